// The self-test finds every hole, names the probe that shows it, and finds none where there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "firewall/api/attach_session.h"
#include "firewall/api/verify_probes.h"
#include "firewall/testing/fake_proxy.h"
#include "firewall/testing/sleeping_task.h"

namespace sallyport::firewall {
namespace {

struct Hole {
  const char* name;
  std::vector<Probe> shown_by;  // at least these
};

class Holes : public testing::TestWithParam<Hole> {};

TEST_P(Holes, AreNoticedAndNamed) {
  SleepingTask task;
  if (task.pid() < 0) GTEST_SKIP() << "no user namespaces here";
  AttachOptions options{SALLYPORT_ATTACH_WITH_HOLE,
                        IpPrefix::parse("198.18.16.0/20").value(),
                        IpPrefix::parse("fd53:7079:1:2::/64").value(),
                        {std::string("SALLYPORT_HOLE=") + GetParam().name}};
  auto session = AttachSession::start(options, std::move(target_of_pid(task.pid())).value());
  ASSERT_TRUE(session) << session.error().detail;
  auto listeners = session.value().receive_listeners(Deadline::after(std::chrono::seconds(5)));
  ASSERT_TRUE(listeners) << listeners.error().detail;
  FakeProxy proxy(listeners.value());
  Nonce nonce = Nonce::random();
  auto outcomes = session.value().run_probes(nonce, Deadline::after(std::chrono::milliseconds(700)));
  ASSERT_TRUE(outcomes) << outcomes.error().detail;
  auto failures = verify_probes({nonce, IpAddress::parse("198.18.16.1").value()}, outcomes.value(), proxy.records());
  EXPECT_EQ(failures.empty(), GetParam().shown_by.empty()) << describe(failures);
  for (Probe probe : GetParam().shown_by) {
    bool named = std::ranges::any_of(failures, [&](const ProbeFailure& failure) { return failure.probe == probe; });
    EXPECT_TRUE(named) << info_of(probe).name << " should show it: " << describe(failures);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Holes,
                         testing::Values(Hole{"none", {}},
                                         Hole{"veth", {Probe::kInterfaces, Probe::kRoutes, Probe::kRawAddress}},
                                         Hole{"flush", {Probe::kRuleset, Probe::kRawAddress, Probe::kUdp}},
                                         Hole{"udp", {Probe::kRuleset, Probe::kUdp, Probe::kUdp6}},
                                         Hole{"ipv6-route", {Probe::kRoutes, Probe::kIpv6, Probe::kMetadata6}},
                                         Hole{"metadata-route", {Probe::kRoutes, Probe::kMetadata}},
                                         Hole{"foreign-listener", {Probe::kForeignListener, Probe::kRawAddress}}),
                         [](const testing::TestParamInfo<Hole>& info) {
                           std::string name = info.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace sallyport::firewall
