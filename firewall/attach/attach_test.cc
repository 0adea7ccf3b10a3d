#include <gtest/gtest.h>
#include <linux/capability.h>
#include <unistd.h>

#include "firewall/api/attach_session.h"
#include "firewall/attach/holders.h"
#include "firewall/attach/request.h"
#include "firewall/testing/fake_proxy.h"
#include "firewall/testing/sleeping_task.h"

namespace sallyport::firewall {
namespace {

AttachRequest usual_request() {
  AttachRequest request;
  request.pool4 = {198, 18, 16, 0};
  request.pool4_length = 20;
  request.pool6 = {0xfd, 0x53, 0x70, 0x79};
  request.pool6_length = 64;
  return request;
}

TEST(CheckRequest, AcceptsTheUsualAndNamesTheResolver) {
  auto checked = check_request(usual_request(), UniqueFd());
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked.value().resolver4.text(), "198.18.16.1");
}

TEST(CheckRequest, RefusesWhatThisVersionDoesNotKnow) {
  auto refused = [](auto change) {
    AttachRequest request = usual_request();
    change(request);
    return !check_request(request, UniqueFd());
  };
  EXPECT_TRUE(refused([](AttachRequest& r) { r.head.protocol = 2; }));
  EXPECT_TRUE(refused([](AttachRequest& r) { r.head.kind = MessageKind::kProbeRequest; }));
  EXPECT_TRUE(refused([](AttachRequest& r) { r.flags = 1; }));
  EXPECT_TRUE(refused([](AttachRequest& r) { r.pid = -1; }));
  EXPECT_TRUE(refused([](AttachRequest& r) { r.pool4_length = 0; }));
  EXPECT_TRUE(refused([](AttachRequest& r) { r.pool4_length = 29; }));
  EXPECT_TRUE(refused([](AttachRequest& r) { r.pool4 = {198, 18, 16, 1}; }));
  EXPECT_TRUE(refused([](AttachRequest& r) { r.pool4 = {127, 0, 0, 0}; }));
  EXPECT_TRUE(refused([](AttachRequest& r) { r.pool4 = {10, 77, 0, 0}; }));
  EXPECT_TRUE(refused([](AttachRequest& r) { r.pool6 = {}; }));
  EXPECT_TRUE(refused([](AttachRequest& r) { r.pool6 = {0xfd, 0x77, 0x73, 0x70}; }));
  EXPECT_TRUE(refused([](AttachRequest& r) { r.pool6_length = 129; }));
}

TEST(HasPower, CountsEverySetAndTheBoundingSetUnlessNoNewPrivileges) {
  constexpr std::uint64_t net_admin = 1ULL << CAP_NET_ADMIN, sys_admin = 1ULL << CAP_SYS_ADMIN;
  sys::ProcessCredentials none;
  EXPECT_FALSE(has_power(none));
  none.cap_effective = ~(net_admin | sys_admin);  // control: all the others
  EXPECT_FALSE(has_power(none));
  for (std::uint64_t power : {net_admin, sys_admin}) {
    for (auto set : {&sys::ProcessCredentials::cap_effective, &sys::ProcessCredentials::cap_permitted,
                     &sys::ProcessCredentials::cap_inheritable, &sys::ProcessCredentials::cap_ambient,
                     &sys::ProcessCredentials::cap_bounding}) {
      sys::ProcessCredentials held;
      held.*set = power;
      EXPECT_TRUE(has_power(held));
    }
    sys::ProcessCredentials bound;
    bound.cap_bounding = power;
    bound.no_new_privs = true;
    EXPECT_FALSE(has_power(bound));
  }
}

AttachOptions options() {
  return {SALLYPORT_ATTACH_PROGRAM, IpPrefix::parse("198.18.16.0/20").value(),
          IpPrefix::parse("fd53:7079:1:2::/64").value()};
}

Deadline soon() { return Deadline::after(std::chrono::seconds(5)); }

TEST(AttachSession, MakesListenersAndPassesTheSelfTest) {
  SleepingTask task;
  if (task.pid() < 0) GTEST_SKIP() << "no user namespaces here";
  auto target = target_of_pid(task.pid());
  ASSERT_TRUE(target);
  auto session = AttachSession::start(options(), std::move(target).value());
  ASSERT_TRUE(session);
  auto listeners = session.value().receive_listeners(soon());
  ASSERT_TRUE(listeners) << listeners.error().detail;
  EXPECT_NE(listeners.value().netns.cookie, 0u);
  FakeProxy proxy(listeners.value());
  Nonce nonce = Nonce::random();
  auto outcomes = session.value().run_probes(nonce, soon());
  ASSERT_TRUE(outcomes) << outcomes.error().detail;
  auto failures = verify_probes({nonce, IpAddress::parse("198.18.16.1").value()}, outcomes.value(), proxy.records());
  EXPECT_TRUE(failures.empty()) << describe(failures);

  // A namespace is attached to once.
  auto second = AttachSession::start(options(), std::move(target_of_pid(task.pid())).value());
  ASSERT_TRUE(second);
  auto refused = second.value().receive_listeners(soon());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kDenied);
}

TEST(AttachSession, SelfTestFailsWhenNobodyAnswers) {
  SleepingTask task;
  if (task.pid() < 0) GTEST_SKIP() << "no user namespaces here";
  auto session = AttachSession::start(options(), std::move(target_of_pid(task.pid())).value());
  ASSERT_TRUE(session);
  auto listeners = session.value().receive_listeners(soon());
  ASSERT_TRUE(listeners) << listeners.error().detail;
  Nonce nonce = Nonce::random();
  auto begun = Clock::now();
  auto outcomes = session.value().run_probes(nonce, Deadline::after(std::chrono::milliseconds(400)));
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(1));
  ASSERT_TRUE(outcomes) << outcomes.error().detail;
  auto failures = verify_probes({nonce, IpAddress::parse("198.18.16.1").value()}, outcomes.value(), {});
  EXPECT_EQ(failures.size(), 10u);  // every TCP and DNS probe; structure and refusals do not need the proxy
}

TEST(AttachSession, RefusesOurOwnNamespace) {
  auto session = AttachSession::start(options(), std::move(target_of_pid(::getpid())).value());
  ASSERT_TRUE(session);
  auto refused = session.value().receive_listeners(soon());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kDenied);
  EXPECT_NE(refused.error().detail.find("itself runs in"), std::string::npos) << refused.error().detail;
}

}  // namespace
}  // namespace sallyport::firewall
