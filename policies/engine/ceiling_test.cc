// A policy within another: both must allow.
#include <gtest/gtest.h>

#include "policies/engine/engine_test_support.h"

namespace sallyport::policy {
namespace {

using namespace testing;
using enum ReasonCode;

std::string text_of(const std::string& name, const std::vector<std::string>& rules, const std::string& more = "") {
  std::string text = "policy: " + name + "\n" + more + "rules:\n";
  for (const auto& rule : rules) text += "  - " + rule + "\n";
  return text;
}

LoadOutcome within(const std::vector<std::string>& ceiling, const std::vector<std::string>& rules, const std::string& more = "") {
  auto above = load(text_of("corp/1", ceiling), "corp.yaml");
  EXPECT_TRUE(above.policy) << all_text(above);
  return load(text_of("task/1", rules, more), "task.yaml", {above.policy});
}

std::shared_ptr<const CompiledPolicy> both(const std::vector<std::string>& ceiling, const std::vector<std::string>& rules) {
  auto outcome = within(ceiling, rules);
  EXPECT_TRUE(outcome.policy) << all_text(outcome);
  return outcome.policy ? outcome.policy : deny_all();
}

TEST(Ceiling, TakesANarrowingAndRefusesWhatItNeverLetsThrough) {  // policy-004
  EXPECT_TRUE(within({"allow: tls://*.allowed.test"}, {"allow: tls://api.allowed.test"}).policy);
  auto outcome = within({"allow: tls://*.allowed.test"}, {"allow: tls://api.allowed.test", "allow: tls://other.test"});
  EXPECT_FALSE(outcome.policy);
  EXPECT_EQ(outcome.diagnostics.at(0).line, 4u);
  EXPECT_NE(all_text(outcome).find("corp/1, which this policy is within, has no rule for it"), std::string::npos);
}

TEST(Ceiling, NamesItsLine) {
  auto said = [](const std::vector<std::string>& ceiling, const std::string& rule) { return all_text(within(ceiling, {rule})); };
  EXPECT_NE(said({"{id: web, allow: 'GET http://a.test/v1/**'}"}, "allow: GET http://a.test/v2/x").find("web in line 3"), std::string::npos);
  EXPECT_NE(said({"{id: web, allow: 'GET http://a.test/v1/**'}"}, "allow: POST http://a.test/v1/x").find("web in line 3"), std::string::npos);
  EXPECT_NE(said({"allow: tls://*.a.test", "{id: no, deny: 'tls://b.a.test'}"}, "allow: tls://b.a.test").find("denies all of it with no in line 4"),
            std::string::npos);
  EXPECT_NE(said({"allow: tls://a.test:80"}, "allow: GET http://a.test/v2/x").find("nearest is rule-1 in line 3"), std::string::npos);
}

TEST(Ceiling, LetsThroughOnlyWhatBothAllow) {
  auto p = both({"allow: GET,HEAD http://*.w.test/**", "deny: http://a.w.test/private/**", "allow: tls://b.test"},
                {"allow: http://a.w.test/**", "allow: tls://b.test"});
  EXPECT_EQ(ask_http(*p, "GET", "a.w.test", "/x"), kAllowed);
  EXPECT_EQ(ask_http(*p, "POST", "a.w.test", "/x"), kNotWithinCeiling);
  EXPECT_EQ(ask_http(*p, "GET", "a.w.test", "/private/x"), kNotWithinCeiling);
  EXPECT_EQ(ask_http(*p, "GET", "c.w.test", "/x"), kNoRule);
  EXPECT_EQ(ask_connection(*p, "b.test", 443), kAllowed);
}

TEST(Ceiling, LetsAWiderRuleThroughInPart) {
  auto p = both({"allow: tls://api.b.test", "allow: tls://b.test"}, {"allow: tls://*.b.test"});
  EXPECT_EQ(ask_connection(*p, "api.b.test", 443), kAllowed);
  EXPECT_EQ(ask_connection(*p, "other.b.test", 443), kNotWithinCeiling);
  EXPECT_EQ(ask_name(*p, "other.b.test"), kNotWithinCeiling);
  EXPECT_EQ(ask_name(*p, "api.b.test"), kAllowed);
  EXPECT_FALSE(within({"allow: tls://api.b.test:8443"}, {"allow: tls://*.b.test"}).policy);
}

TEST(Ceiling, SaysWhyAndByWhichRule) {
  auto p = both({"allow: GET http://a.test/**"}, {"{id: mine, allow: 'http://a.test/**'}"});
  auto verdict = verdict_http(*p, "POST", "a.test", "/x");
  EXPECT_FALSE(verdict.destination);
  EXPECT_FALSE(verdict.rule);
  EXPECT_EQ(verdict.nearest->id, "mine");
  EXPECT_EQ(verdict.ceiling_reason, kMethodNotAllowed);
  EXPECT_EQ(verdict.ceiling_rule->line, 3u);
}

TEST(Ceiling, LetsATunnelCarryWhatIsNarrower) {
  auto p = both({"allow: tcp://a.test:80", "allow: tcp://b.test:443"}, {"allow: GET http://a.test/x", "allow: tls://b.test"});
  EXPECT_EQ(ask_http(*p, "GET", "a.test", "/x"), kAllowed);
  EXPECT_EQ(ask_connection(*p, "b.test", 443), kAllowed);
  EXPECT_FALSE(within({"allow: tls://b.test"}, {"allow: tcp://b.test:443"}).policy);
  EXPECT_FALSE(within({"allow: GET http://b.test/**"}, {"allow: tcp://b.test:80"}).policy);
}

TEST(Ceiling, LowersBudgetsAndKeepsStricterOnes) {
  auto above = load("policy: corp/1\nrules: [{allow: 'tls://a.test'}]\nbudgets: {download: 1MiB, wall: 1h, dns: {names: 5}}\non_denial: {end_after: 9}\n", "c");
  ASSERT_TRUE(above.policy);
  auto p = load("policy: t/1\nrules: [{allow: 'tls://a.test'}]\nbudgets: {download: 2MiB, wall: 5m}\non_denial: {end_after: 12}\n", "t", {above.policy}).policy;
  ASSERT_TRUE(p);
  EXPECT_EQ(p->budgets().limits.download, ByteCount{1u << 20});
  EXPECT_EQ(p->budgets().wall, std::chrono::minutes(5));
  EXPECT_EQ(p->budgets().dns_names, 5u);
  EXPECT_EQ(p->end_after(), 9u);
}

TEST(Ceiling, GrantsAndHidesNothingThatItDoesNotItself) {
  EXPECT_FALSE(within({"allow: tls://a.test"}, {"{allow: 'tls://a.test', ech: allow}"}).policy);
  EXPECT_FALSE(within({"allow: tls://a.test"}, {"{allow: 'tls://a.test', dns: real}"}).policy);
  EXPECT_FALSE(within({"{allow: 'tls://a.test', dns: TXT}"}, {"{allow: 'tls://a.test', dns: [MX, TXT]}"}).policy);
  auto p = both({"{allow: 'tls://a.w.test', ech: allow, dns: [TXT, MX, real]}", "allow: tls://b.w.test"},
                {"{allow: 'tls://a.w.test', ech: allow, dns: [TXT, real]}", "{allow: 'tls://*.w.test', ech: allow}"});
  auto ech = [&](std::string_view host) { return decide_connection(*p, {Target(name(host)), Port::of(443)}).destination->rule().ech; };
  EXPECT_EQ(ech("a.w.test"), Ech::kAllow);
  EXPECT_EQ(ech("b.w.test"), Ech::kRefuse);
  EXPECT_TRUE(decide_name(*p, name("a.w.test")).real_addresses);
  EXPECT_TRUE(decide_record(*p, name("a.w.test"), 16).allowed());
  EXPECT_FALSE(decide_record(*p, name("a.w.test"), 15).allowed());
}

TEST(Ceiling, TakesAPartOfTheCatalogueAway) {
  auto above = load("policy: corp/1\nrules: [{allow: 'tls://pypi.org'}]\n", "c").policy;
  auto outcome = load("policy: t/1\nuse: [pypi/1]\n", "t", {above});
  ASSERT_TRUE(outcome.policy) << all_text(outcome);
  EXPECT_NE(all_text(outcome).find("warning: pypi/1/files lets nothing through"), std::string::npos) << all_text(outcome);
  EXPECT_EQ(ask_connection(*outcome.policy, "pypi.org", 443), kAllowed);
  EXPECT_EQ(ask_connection(*outcome.policy, "files.pythonhosted.org", 443), kNotWithinCeiling);
}

TEST(Ceiling, HasToBeTheOneThatIsNamed) {
  EXPECT_TRUE(within({"allow: tls://a.test"}, {"allow: tls://a.test"}, "within: corp/1\n").policy);
  EXPECT_FALSE(within({"allow: tls://a.test"}, {"allow: tls://a.test"}, "within: corp/2\n").policy);
  EXPECT_FALSE(within({"allow: tls://a.test"}, {"allow: tls://a.test"}, "within: corp.yaml\n").policy);
  EXPECT_FALSE(load("policy: p/1\nwithin: corp/1\nrules: [{allow: 'tls://a.test'}]\n", "p").policy);
}

TEST(Ceiling, CannotHaveLimitsThatNothingCounts) {
  auto above = load("policy: c/1\nrules: [{allow: 'tls://a.test', limits: {connections: 1}}]\n", "c");
  ASSERT_TRUE(above.policy);
  EXPECT_EQ(ceiling_faults(*above.policy, "c").size(), 1u);
  EXPECT_FALSE(load("policy: t/1\nrules: [{allow: 'tls://a.test'}]\n", "t", {above.policy}).policy);
}

}  // namespace
}  // namespace sallyport::policy
