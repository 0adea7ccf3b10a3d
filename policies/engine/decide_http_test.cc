#include <gtest/gtest.h>

#include "policies/engine/engine_test_support.h"

namespace sallyport::policy {
namespace {

using namespace testing;
using enum ReasonCode;

MethodOverrides override_by(std::string_view field, std::string_view value) {
  MethodOverrides o;
  o.see("Host", "a.test");
  o.see(field, value);
  return o;
}

TEST(DecideHttp, HoldsMethodsAndPaths) {
  auto p = policy_of({"allow: GET,HEAD http://a.test/v2/prices/**", "allow: PUT http://a.test/drafts/*/report.json"});
  EXPECT_EQ(ask_http(*p, "GET", "a.test", "/v2/prices/7?x=1"), kAllowed);
  EXPECT_EQ(ask_http(*p, "POST", "a.test", "/v2/prices/7"), kMethodNotAllowed);
  EXPECT_EQ(ask_http(*p, "get", "a.test", "/v2/prices/7"), kMethodNotAllowed);
  EXPECT_EQ(ask_http(*p, "GET", "a.test", "/v2/price"), kPathNotAllowed);
  EXPECT_EQ(ask_http(*p, "PUT", "a.test", "/drafts/t1/report.json"), kAllowed);
  EXPECT_EQ(ask_http(*p, "GET", "a.test", "/drafts/t1/report.json"), kMethodNotAllowed);
}

TEST(DecideHttp, MeansEveryKnownMethodButThreeWhenNoneIsWritten) {
  auto p = policy_of({"allow: http://a.test/**"});
  for (auto method : {"GET", "POST", "DELETE", "PATCH", "PROPFIND", "QUERY"})
    EXPECT_EQ(ask_http(*p, method, "a.test", "/x"), kAllowed) << method;
  for (auto method : {"CONNECT", "TRACE", "PRI", "FOO", "", "GET ", "G\x01T"})
    EXPECT_EQ(ask_http(*p, method, "a.test", "/x"), kMethodNotAllowed) << method;
}

TEST(DecideHttp, NamesTheNearestRule) {
  auto p = policy_of({"{id: far, allow: 'http://b.test/**'}", "{id: other, allow: 'GET http://a.test/other'}",
                      "{id: near, allow: 'GET http://a.test/x'}"});
  auto verdict = verdict_http(*p, "POST", "a.test", "/x");
  EXPECT_EQ(verdict.reason, kMethodNotAllowed);
  EXPECT_FALSE(verdict.rule);
  ASSERT_TRUE(verdict.nearest);
  EXPECT_EQ(verdict.nearest->id, "near");
  EXPECT_EQ(verdict.nearest->line, 5u);
  EXPECT_EQ(verdict_http(*p, "GET", "a.test", "/y").nearest->id, "other");
  EXPECT_EQ(verdict_http(*p, "GET", "a.test", "/x", {}, 81).nearest->id, "other");
  EXPECT_FALSE(verdict_http(*p, "GET", "c.test", "/x").nearest);
  EXPECT_EQ(verdict_http(*p, "GET", "a.test", "/x").destination->rule().id, "near");
}

TEST(DecideHttp, RefusesEncodedEvasionsOfADeny) {  // path-005
  auto p = policy_of({"allow: http://a.test/**", "deny: http://a.test/admin/**", "deny: http://a.test/a!b"});
  for (auto target : {"/admin/x", "/%61dmin/x", "/adm%69n/x", "/a!b", "/a%21b"})
    EXPECT_EQ(ask_http(*p, "GET", "a.test", target), kDeniedByRule) << target;
  EXPECT_EQ(ask_http(*p, "GET", "a.test", "/administration"), kAllowed);
  auto q = policy_of({"allow: http://a.test/api/projects/*"});
  EXPECT_EQ(ask_http(*q, "GET", "a.test", "/api/%70rojects/1"), kAllowed);
  EXPECT_EQ(ask_http(*q, "GET", "a.test", "/api/projectz/1"), kPathNotAllowed);
}

TEST(DecideHttp, DeniesThePlaceItselfWithAllThatIsBelow) {
  auto p = policy_of({"allow: http://a.test/**", "deny: http://a.test/admin/**", "deny: http://a.test/x/*/y/**"});
  for (auto target : {"/admin", "/admin/", "/admin/x", "/x/1/y", "/x/1/y/", "/%61dmin"})
    EXPECT_EQ(ask_http(*p, "GET", "a.test", target), kDeniedByRule) << target;
  for (auto target : {"/", "/admi", "/admins", "/x/1", "/x/y"})
    EXPECT_EQ(ask_http(*p, "GET", "a.test", target), kAllowed) << target;
  auto q = policy_of({"allow: http://a.test/admin/**"});
  EXPECT_EQ(ask_http(*q, "GET", "a.test", "/admin"), kPathNotAllowed);
  EXPECT_EQ(ask_http(*q, "GET", "a.test", "/admin/"), kAllowed);
  EXPECT_FALSE(load_rules({"allow: http://a.test/admin", "deny: http://a.test/admin/**"}).policy);  // never matches
}

TEST(DecideHttp, RefusesAmbiguousPathsWhereARuleLooksAtPaths) {  // path-003, path-008
  auto narrow = policy_of({"allow: http://a.test/public/**"});
  auto broad = policy_of({"allow: http://a.test/**"});
  auto denying = policy_of({"allow: http://a.test/**", "deny: POST http://a.test/admin/**"});
  for (auto target : {"/public/%252e%252e/secret", "/public/%252fsecret", "/public/x;y", "/public/..;/secret",
                      "/public;/secret", "/admin;x/b"}) {
    EXPECT_EQ(ask_http(*narrow, "POST", "a.test", target), kPathAmbiguous) << target;
    EXPECT_EQ(ask_http(*broad, "POST", "a.test", target), kAllowed) << target;
    EXPECT_EQ(ask_http(*denying, "POST", "a.test", target), kPathAmbiguous) << target;
    EXPECT_EQ(ask_http(*denying, "GET", "a.test", target), kAllowed) << target;
  }
  EXPECT_EQ(ask_http(*narrow, "POST", "a.test", "/public/x"), kAllowed);
}

TEST(DecideHttp, RefusesDotSegmentsUnderAnyRule) {  // path-001, path-013
  auto p = policy_of({"allow: http://a.test/**"});
  for (auto target : {"/public/../secret", "/../../etc", "//admin/x"})
    EXPECT_EQ(ask_http(*p, "GET", "a.test", target), kMalformed) << target;
}

TEST(DecideHttp, RefusesMethodOverridesThatTheRuleDoesNotList) {  // policy-006
  auto p = policy_of({"allow: GET,POST http://a.test/r/*"});
  EXPECT_EQ(ask_http(*p, "POST", "a.test", "/r/1", override_by("X-HTTP-Method-Override", "DELETE")), kMethodOverride);
  EXPECT_EQ(ask_http(*p, "POST", "a.test", "/r/1", override_by("x-http-method", "PUT")), kMethodOverride);
  EXPECT_EQ(ask_http(*p, "POST", "a.test", "/r/1", override_by("X_Method_Override", " patch ")), kMethodOverride);
  EXPECT_EQ(ask_http(*p, "POST", "a.test", "/r/1", override_by("X-HTTP-Method-Override", "TRACE")), kMethodOverride);
  EXPECT_EQ(ask_http(*p, "POST", "a.test", "/r/1", override_by("X-HTTP-Method-Override", "")), kMethodOverride);
  EXPECT_EQ(ask_http(*p, "POST", "a.test", "/r/1", override_by("X-HTTP-Method-Override", "get")), kAllowed);
  EXPECT_EQ(ask_http(*p, "POST", "a.test", "/r/1", override_by("X-Method", "DELETE")), kAllowed);
  EXPECT_EQ(ask_http(*p, "POST", "a.test", "/r/1?_method=delete"), kMethodOverride);
  EXPECT_EQ(ask_http(*p, "POST", "a.test", "/r/1?a=1&%5Fmethod=delete"), kMethodOverride);
  EXPECT_EQ(ask_http(*p, "POST", "a.test", "/r/1?method=delete"), kAllowed);
  MethodOverrides many;
  for (int i = 0; i < 5; ++i) many.see("X-HTTP-Method", "GET");
  EXPECT_EQ(ask_http(*p, "POST", "a.test", "/r/1", many), kMethodOverride);
}

TEST(DecideHttp, RefusesMethodOverridesIntoADeny) {  // policy-006
  auto p = policy_of({"allow: http://a.test/**", "deny: DELETE http://a.test/r/**"});
  EXPECT_EQ(ask_http(*p, "POST", "a.test", "/r/1", override_by("X-HTTP-Method-Override", "DELETE")), kMethodOverride);
  EXPECT_EQ(ask_http(*p, "POST", "a.test", "/r/1", override_by("X-HTTP-Method-Override", "PUT")), kAllowed);
  EXPECT_EQ(ask_http(*p, "POST", "a.test", "/r/1?_method=DELETE"), kMethodOverride);
  EXPECT_EQ(ask_http(*p, "POST", "a.test", "/s/1?_method=DELETE"), kAllowed);
  EXPECT_TRUE(verdict_http(*p, "POST", "a.test", "/r/1").limits_methods);
  EXPECT_FALSE(verdict_http(*p, "POST", "a.test", "/s/1").limits_methods);
}

TEST(MethodKey, IsFoundInEverySpelling) {  // policy-006
  for (auto text : {"_method=delete", "a=b&_method=x", "a;_method", "%5fmethod=", "_METHOD=x", "+_method=x",
                    ".method=x", "%20_method[]=x", "_method%5b%5d=x"})
    EXPECT_TRUE(names_method_key(text)) << text;
  for (auto text : {"", "method=x", "a_method=x", "x=_method", "_methods=x", "_method2", "__method=x", "%", "&&;"})
    EXPECT_FALSE(names_method_key(text)) << text;
}

TEST(DecideHttp, DecidesByManyRulesAsByFew) {
  std::string text = "policy: many/1\nrules:\n";
  for (int i = 0; i < 300; ++i) text += "  - allow: GET http://a.test/p" + std::to_string(i) + "/*/x\n";
  text +=
      "  - allow: GET http://a.test/v*/**\n  - allow: GET http://a.test/*/y\n  - deny: http://a.test/p7/**\n  - allow: "
      "http://a.test/deep/**/end\n";
  auto outcome = load(text, "many");
  ASSERT_FALSE(outcome.policy);  // p7 can never match
  text.erase(text.find("  - allow: GET http://a.test/p7/"),
             std::string("  - allow: GET http://a.test/p7/*/x\n").size());
  outcome = load(text, "many");
  ASSERT_TRUE(outcome.policy) << all_text(outcome);
  const auto& p = *outcome.policy;
  EXPECT_EQ(verdict_http(p, "GET", "a.test", "/p0/q/x").rule->index, 0u);
  EXPECT_EQ(verdict_http(p, "GET", "a.test", "/p299/q/x").rule->index, 298u);
  EXPECT_EQ(verdict_http(p, "GET", "a.test", "/v12/q").rule->index, 299u);
  EXPECT_EQ(verdict_http(p, "GET", "a.test", "/p0/y").rule->index, 300u);
  EXPECT_EQ(ask_http(p, "PUT", "a.test", "/deep/a/b/end"), kAllowed);
  EXPECT_EQ(ask_http(p, "GET", "a.test", "/p7/y"), kDeniedByRule);
  EXPECT_EQ(ask_http(p, "GET", "a.test", "/p8"), kPathNotAllowed);
  EXPECT_EQ(ask_http(p, "PUT", "a.test", "/p8/q/x"), kMethodNotAllowed);
}

}  // namespace
}  // namespace sallyport::policy
