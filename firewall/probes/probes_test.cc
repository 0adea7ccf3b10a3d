#include <gtest/gtest.h>

#include "firewall/addresses/configure.h"
#include "firewall/probes/dns_probe.h"
#include "firewall/probes/run_probes.h"
#include "firewall/testing/new_namespace.h"

namespace sallyport::firewall {
namespace {

TEST(DnsProbe, AsksOneQuestion) {
  std::string query = dns_query(0x1234, "a-b.test");
  EXPECT_EQ(query, std::string("\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03"
                               "a-b\x04test\0\0\x01\0\x01",
                               26));
}

TEST(DnsProbe, TakesOnlyTheAnswerToItsQuestion) {
  const std::string query = dns_query(0x1234, "a.test");
  std::string good = query;
  good[2] = static_cast<char>(0x81);
  good[3] = 3;
  EXPECT_TRUE(is_nxdomain_for(query, good));
  EXPECT_TRUE(is_nxdomain_for(query, good + std::string(11, '\0')));  // control: with an OPT record behind
  auto other = [&](std::size_t at, char value) {
    std::string changed = good;
    changed[at] = value;
    return is_nxdomain_for(query, changed);
  };
  EXPECT_FALSE(other(0, 0x11));             // another id
  EXPECT_FALSE(other(2, 0x01));             // a query
  EXPECT_FALSE(other(3, 0));                // success
  EXPECT_FALSE(other(3, 5));                // refused
  EXPECT_FALSE(other(5, 0));                // no question
  EXPECT_FALSE(other(13, 'b'));             // another name
  EXPECT_FALSE(other(good.size() - 1, 3));  // another class
  EXPECT_FALSE(is_nxdomain_for(query, good.substr(0, good.size() - 1)));
  EXPECT_FALSE(is_nxdomain_for(query, ""));
  EXPECT_FALSE(is_nxdomain_for("", ""));
}

ProbeContext context_of(LoadedRuleset ruleset) {
  return {
      Nonce::random(), IpAddress::v4({198, 18, 16, 1}), ruleset, {}, Deadline::after(std::chrono::milliseconds(100))};
}

std::vector<Probe> failed_in(const std::vector<ProbeOutcome>& outcomes) {
  std::vector<Probe> failed;
  for (const ProbeOutcome& outcome : outcomes) {
    if (outcome.status == ProbeStatus::kFailed) failed.push_back(outcome.probe);
  }
  return failed;
}

TEST(RunProbes, FailsAllOfThemInANamespaceThatWasNotMadeReady) {
  in_new_namespace([] {
    auto outcomes = run_probes(context_of({}));
    // Interfaces, rules and listeners are as they should be where nothing has been done.
    return outcomes.size() == kProbeCount && failed_in(outcomes).size() == kProbeCount - 3;
  });
}

TEST(RunProbes, RefusalsAndStructureNeedNoProxy) {
  in_new_namespace([] {
    if (!holds(configure_addresses())) return false;
    auto ruleset = load_ruleset();
    if (!holds(ruleset)) return false;
    auto outcomes = run_probes(context_of(ruleset.value()));
    for (std::size_t i = 0; i < kProbeCount; ++i) {
      const ProbeInfo& info = all_probes()[i];
      if (outcomes[i].probe != info.probe) return false;
      bool needs_proxy = info.kind == ProbeKind::kTcp || info.kind == ProbeKind::kDns;
      if ((outcomes[i].status == ProbeStatus::kFailed) != needs_proxy) return false;
    }
    return true;
  });
}

}  // namespace
}  // namespace sallyport::firewall
