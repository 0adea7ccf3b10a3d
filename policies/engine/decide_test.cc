#include <gtest/gtest.h>

#include "policies/engine/engine_test_support.h"

namespace sallyport::policy {
namespace {

using namespace testing;
using enum ReasonCode;

TEST(Decide, DeniesAllWithoutAPolicy) {
  auto none = deny_all();
  EXPECT_EQ(ask_name(*none, "a.test"), kNoPolicy);
  EXPECT_EQ(ask_connection(*none, "a.test", 443), kNoPolicy);
  EXPECT_EQ(ask_connection(*none, "192.0.2.1", 443), kNoPolicy);
  EXPECT_EQ(ask_http(*none, "GET", "a.test", "/"), kNoPolicy);
  EXPECT_EQ(none->label(), "none/0");
}

TEST(Decide, DeniesAllUnderAnEmptyAllowList) {  // policy-001
  for (auto text : {"policy: p/1\nrules: []\n", "policy: p/1\n", "policy: p/1\nrules:\n"}) {
    auto outcome = load(text, "p");
    ASSERT_TRUE(outcome.policy) << all_text(outcome);
    EXPECT_EQ(outcome.diagnostics.at(0).severity, Severity::kWarning);
    EXPECT_EQ(ask_name(*outcome.policy, "a.test"), kNoRule);
    EXPECT_EQ(ask_connection(*outcome.policy, "a.test", 443), kNoRule);
    EXPECT_EQ(ask_http(*outcome.policy, "GET", "a.test", "/"), kNoRule);
  }
  EXPECT_FALSE(load("", "p").policy);
  EXPECT_FALSE(load("# nothing\n", "p").policy);
  EXPECT_EQ(ask_connection(*policy_of({"allow: tls://a.test"}), "a.test", 443), kAllowed);
}

TEST(Decide, LetsADenyWinWhereverItStands) {  // policy-002
  auto after = policy_of({"allow: http://*.allowed.test/**", "deny: http://secret.allowed.test/**"});
  auto before = policy_of({"deny: http://secret.allowed.test/**", "allow: http://*.allowed.test/**"});
  for (const auto& p : {after, before}) {
    EXPECT_EQ(ask_http(*p, "GET", "x.allowed.test", "/"), kAllowed);
    EXPECT_EQ(ask_http(*p, "GET", "secret.allowed.test", "/"), kDeniedByRule);
    EXPECT_EQ(ask_connection(*p, "secret.allowed.test", 80), kDeniedByRule);
    EXPECT_EQ(ask_name(*p, "secret.allowed.test"), kDeniedByRule);
    EXPECT_EQ(ask_name(*p, "x.allowed.test"), kAllowed);
  }
  auto literals = policy_of({"deny: tcp://192.0.2.5:80", "allow: tcp://192.0.2.6:80"});
  EXPECT_EQ(ask_connection(*literals, "192.0.2.5", 80), kDeniedByRule);
  EXPECT_EQ(ask_connection(*literals, "192.0.2.6", 80), kAllowed);
}

TEST(Decide, LetsADenialOfOneSchemeCloseThePortForAll) {
  auto p = policy_of({"allow: tcp://*.a.test:443", "deny: tls://x.a.test", "deny: http://y.a.test:443/**"});
  EXPECT_EQ(ask_connection(*p, "x.a.test", 443), kDeniedByRule);
  EXPECT_EQ(ask_connection(*p, "y.a.test", 443), kDeniedByRule);
  EXPECT_EQ(ask_connection(*p, "z.a.test", 443), kAllowed);
  auto http = policy_of({"allow: http://*.a.test/**", "deny: tcp://x.a.test:80"});
  EXPECT_EQ(ask_http(*http, "GET", "x.a.test", "/"), kDeniedByRule);
  EXPECT_EQ(ask_http(*http, "GET", "z.a.test", "/"), kAllowed);
}

TEST(Decide, MatchesNamesWhateverTheirSpelling) {  // input-006, dns-015
  auto p = policy_of({"allow: http://*.a.test/**", "deny: http://denied.a.test/**"});
  EXPECT_EQ(ask_name(*p, "DENIED.a.TEST."), kDeniedByRule);
  EXPECT_EQ(ask_name(*p, "Allowed.A.test."), kAllowed);
}

TEST(Decide, NeedsALabelBoundary) {  // input-019
  auto p = policy_of({"allow: tls://*.allowed.test"});
  for (auto host : {"notallowed.test", "allowed.test.denied.test", "xallowed.test"}) {
    EXPECT_EQ(ask_name(*p, host), kNoRule) << host;
    EXPECT_EQ(ask_connection(*p, host, 443), kNoRule) << host;
  }
}

TEST(Decide, CoversEveryDepthAndNeverTheApex) {  // input-020
  auto p = policy_of({"allow: tls://*.allowed.test", "allow: http://*.allowed.test/**"});
  EXPECT_EQ(ask_name(*p, "allowed.test"), kNoRule);
  EXPECT_EQ(ask_connection(*p, "allowed.test", 443), kNoRule);
  EXPECT_EQ(ask_http(*p, "GET", "allowed.test", "/"), kNoRule);
  for (auto host : {"a.allowed.test", "a.b.allowed.test"}) {
    EXPECT_EQ(ask_name(*p, host), kAllowed);
    EXPECT_EQ(ask_connection(*p, host, 443), kAllowed);
    EXPECT_EQ(ask_http(*p, "GET", host, "/"), kAllowed);
  }
}

TEST(Decide, MeansOnlyTheSchemesOwnPortWhenNoneIsWritten) {  // input-017
  auto p =
      policy_of({"allow: tls://allowed.test", "allow: http://allowed.test/**", "allow: http://allowed.test:8081/**"});
  EXPECT_EQ(ask_connection(*p, "allowed.test", 22), kPortNotAllowed);
  EXPECT_EQ(ask_http(*p, "GET", "allowed.test", "/", {}, 8080), kPortNotAllowed);
  EXPECT_EQ(ask_http(*p, "GET", "allowed.test", "/", {}, 443), kTunnelOnly);
  EXPECT_EQ(ask_http(*p, "GET", "allowed.test", "/", {}, 8081), kAllowed);
  EXPECT_EQ(ask_connection(*p, "allowed.test", 443), kAllowed);
}

TEST(Decide, NeedsARuleOfItsOwnForALiteral) {  // connect-003, input-012
  auto p = policy_of({"allow: tls://allowed.test", "allow: tcp://192.0.2.1:5432", "allow: tcp://[2001:db8::1]:22"});
  EXPECT_EQ(ask_connection(*p, "192.0.2.1", 5432), kAllowed);
  EXPECT_EQ(ask_connection(*p, "[2001:DB8:0::1]", 22), kAllowed);
  EXPECT_EQ(ask_connection(*p, "192.0.2.1", 443), kPortNotAllowed);
  EXPECT_EQ(ask_connection(*p, "192.0.2.2", 5432), kLiteralNotAllowed);
  EXPECT_EQ(ask_connection(*p, "[::ffff:192.0.2.1]", 5432), kLiteralNotAllowed);
}

TEST(Decide, TakesTreatmentAndRuleFromTheFirstAllow) {
  auto p = policy_of({"{id: one, allow: 'tls://x.a.test', limits: {connections: 3}}",
                      "{id: all, allow: 'tcp://*.a.test:443'}", "{id: web, allow: 'http://x.a.test/**'}"});
  auto one = decide_connection(*p, {Target(name("x.a.test")), Port::of(443)});
  ASSERT_TRUE(one.destination);
  EXPECT_EQ(one.treatment, Treatment::kTlsTunnel);
  EXPECT_EQ(one.destination->rule().id, "one");
  EXPECT_EQ(p->rules()[one.rule->index].limits.connections_total, 3u);
  auto all = decide_connection(*p, {Target(name("y.a.test")), Port::of(443)});
  EXPECT_EQ(all.treatment, Treatment::kTcpTunnel);
  EXPECT_EQ(all.destination->rule().id, "all");
  auto web = decide_connection(*p, {Target(name("x.a.test")), Port::of(80)});
  EXPECT_TRUE(web.allowed());
  EXPECT_EQ(web.treatment, Treatment::kHttp);
  EXPECT_FALSE(web.destination);
}

TEST(Decide, NeverOpensMetadataThroughAWildcard) {
  auto p = policy_of({"allow: tcp://*.google.internal:80", "allow: http://*.google.internal:81/**"});
  EXPECT_EQ(ask_name(*p, "metadata.google.internal"), kFloor);
  EXPECT_EQ(ask_connection(*p, "metadata.google.internal", 80), kFloor);
  EXPECT_EQ(ask_http(*p, "GET", "x.metadata.google.internal", "/", {}, 81), kFloor);
  EXPECT_EQ(ask_name(*p, "other.google.internal"), kAllowed);
}

TEST(Decide, AllowsANameOnlyIfSomethingRemainsOfItsRules) {
  auto p = policy_of({"allow: http://*.a.test/v1/**", "allow: http://*.a.test/v2/*", "deny: http://gone.a.test/v1/**",
                      "deny: GET http://gone.a.test/v2/**", "deny: http://shut.a.test/v1/**",
                      "deny: http://shut.a.test/v2/**"});
  EXPECT_EQ(ask_name(*p, "gone.a.test"), kAllowed);  // other methods below /v2
  EXPECT_EQ(ask_name(*p, "shut.a.test"), kDeniedByRule);
  EXPECT_EQ(ask_connection(*p, "shut.a.test", 80), kDeniedByRule);
  EXPECT_EQ(ask_name(*p, "x.a.test"), kAllowed);
}

TEST(Decide, GivesTheSameAnswerToTheSameNameHoweverManyOthersThereAre) {  // policy-011
  auto p = policy_of({"allow: tls://one.cdn.test"});
  EXPECT_EQ(ask_connection(*p, "one.cdn.test", 443), kAllowed);
  EXPECT_EQ(ask_connection(*p, "two.cdn.test", 443), kNoRule);
}

}  // namespace
}  // namespace sallyport::policy
