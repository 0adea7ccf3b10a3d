#include <gtest/gtest.h>

#include <chrono>

#include "policies/engine/engine_test_support.h"
#include "policies/review/explain.h"
#include "policies/review/recorded.h"
#include "policies/review/run_tests.h"

namespace sallyport::policy::review {
namespace {

std::string told(const CompiledPolicy& policy, std::string_view text) {
  auto inquiry = Inquiry::parse(text);
  if (!inquiry) return "error: " + inquiry.error().detail;
  return render(explain(policy, inquiry.value()), policy, inquiry.value(), "p.yaml");
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string error_of(std::string_view text) {
  auto inquiry = Inquiry::parse(text);
  return inquiry ? "" : inquiry.error().detail;
}

TEST(Inquiry, ReadsEveryForm) {
  for (std::string_view text : {"GET http://a.test/x?y=1", "tls://a.test:443", "tcp://a.test:22", "CONNECT a.test:443",
                                "a.test", "TXT dns://a.test", "POST http://[2001:db8::1]:81/"}) {
    auto inquiry = Inquiry::parse(text);
    ASSERT_TRUE(inquiry) << text << error_of(text);
    EXPECT_EQ(inquiry.value().text(), text);
  }
  EXPECT_EQ(Inquiry::parse("http://a.test").value().text(), "GET http://a.test/");
  EXPECT_EQ(Inquiry::parse("tls://A.test").value().text(), "tls://a.test:443");
  EXPECT_EQ(Inquiry::parse("https://a.test/x").value().text(), "tls://a.test:443");
}

TEST(Inquiry, SaysWhatToWriteInstead) {
  EXPECT_TRUE(has(error_of(""), "write 'GET http://host/path'"));
  EXPECT_TRUE(has(error_of("GET a.test/x"), "write 'GET http://a.test/x'"));
  EXPECT_TRUE(has(error_of("GET"), "a method without a destination"));
  EXPECT_TRUE(has(error_of("tcp://a.test"), "tcp://a.test:PORT"));
  EXPECT_TRUE(has(error_of("CONNECT a.test"), "CONNECT a.test:443"));
  EXPECT_TRUE(has(error_of("192.0.2.1"), "an address is not looked up"));
  EXPECT_TRUE(has(error_of("ftp://a.test/"), "unknown scheme"));
  EXPECT_TRUE(has(error_of("GET http://a.test/a//b"), "refused as malformed"));
  EXPECT_TRUE(has(error_of("GET http://u:p@a.test/"), "'@'"));
  EXPECT_FALSE(has(error_of("GET http://\x1b[2J/"), "\x1b"));
  EXPECT_FALSE(has(error_of(std::string(20'000, 'a')), "aaaa"));
}

TEST(Explain, NamesTheRuleThatAllowsAndItsLimits) {
  auto policy =
      testing::policy_of({"{id: api, allow: 'GET http://a.test/v1/**', limits: {requests: 5, download: 1MiB}}"});
  auto text = told(*policy, "GET http://a.test/v1/x");
  EXPECT_TRUE(has(text, "allowed\n  by rule api, p.yaml line 3")) << text;
  EXPECT_TRUE(has(text, "limits of the rule: requests 5, download 1MiB")) << text;
}

TEST(Explain, SaysOfEachRuleWhatDiffersFirst) {
  auto policy =
      testing::policy_of({"{id: a, allow: 'GET http://a.test/v1/**'}", "{id: b, allow: 'GET http://b.test/**'}",
                          "{id: c, allow: 'GET http://a.test:81/**'}", "{id: d, allow: 'tls://a.test'}",
                          "{id: e, allow: 'http://*.a.test/**'}"});
  auto text = told(*policy, "POST http://a.test/v1/x");
  EXPECT_TRUE(has(text, "denied: method_not_allowed")) << text;
  EXPECT_TRUE(has(text, "method   method POST is not GET") || has(text, "method POST is not GET")) << text;
  EXPECT_TRUE(has(text, "host a.test is not b.test")) << text;
  EXPECT_TRUE(has(text, "port 80 is not 81")) << text;
  EXPECT_TRUE(has(text, "port 80 is not 443")) << text;
  EXPECT_TRUE(has(text, "is the name itself, and *.a.test is only what lies below it")) << text;
  EXPECT_TRUE(has(text, "  - allow: POST http://a.test/v1/x\n")) << text;
}

TEST(Explain, ShowsTheTermsOfRequests) {
  auto policy = testing::policy_of({"{id: q, allow: 'GET http://a.test/p', query: {page: {regex: '[0-9]+'}}}",
                                    "{id: b, allow: 'PUT http://a.test/b', content_type: application/json}"});
  EXPECT_TRUE(has(told(*policy, "GET http://a.test/p?page=x"), "query page=x is not one that this rule takes"));
  EXPECT_TRUE(has(told(*policy, "GET http://a.test/p?page=7"), "allowed\n  by rule q"));
}

TEST(Explain, OffersNoRuleThatVoidsTheTermsOfOthers) {
  auto policy =
      testing::policy_of({"{id: r, allow: 'GET http://a.test/a/**', query: {k: '1'}, content_type: application/json}",
                          "{id: free, allow: 'GET http://free.test/x'}"});
  auto text = told(*policy, "GET http://a.test/a/b?k=2");
  EXPECT_TRUE(has(text,
                  "would allow it, and nothing else:\n  - {allow: GET http://a.test/a/b, query: {k: '2'}, "
                  "content_type: application/json}\n"))
      << text;
  text = told(*policy, "POST http://a.test/a/b");
  EXPECT_TRUE(has(text, "- {allow: POST http://a.test/a/b, query: none, content_type: application/json}\n")) << text;
  EXPECT_FALSE(has(told(*policy, "GET http://a.test/a/b?k=1&k=2"), "would allow it"));
  // Where nobody limits queries the rule is the short one.
  text = told(*policy, "GET http://free.test/y?k=2");
  EXPECT_TRUE(has(text, "whatever the query, and nothing else:\n  - allow: GET http://free.test/y\n")) << text;
}

TEST(Explain, SaysNothingElseOnlyWhereItIsSo) {
  auto policy = testing::policy_of({"{id: a, allow: 'GET http://a.test/v1/**'}"});
  EXPECT_FALSE(has(told(*policy, "GET http://a.test/v1/x;y"), "would allow it"));
  EXPECT_FALSE(has(told(*policy, "GET http://new.test/x;y"), "would allow it"));
  for (std::string_view wider : {"CONNECT g.test:80", "g.test", "tls://192.0.2.1:443"}) {
    auto text = told(*policy, wider);
    EXPECT_TRUE(has(text, "would allow it, and ") && !has(text, "nothing else")) << text;
  }
  for (std::string_view exact : {"CONNECT g.test:443", "tls://g.test:80", "tcp://g.test:22", "POST http://a.test/v1/x"})
    EXPECT_TRUE(has(told(*policy, exact), "would allow it, and nothing else:")) << exact;
}

TEST(Explain, OffersNoRuleAgainstADenialOrTheFloor) {
  auto policy = testing::policy_of({"{id: w, allow: 'http://a.test/**'}", "{id: no, deny: 'http://a.test/x'}"});
  auto text = told(*policy, "GET http://a.test/x");
  EXPECT_TRUE(has(text, "denied: denied_by_rule") && has(text, "by rule no") && !has(text, "would allow it")) << text;
  EXPECT_TRUE(has(text, "matches, but a deny wins: no (line 4)")) << text;
  EXPECT_FALSE(has(told(*policy, "GET http://169.254.169.254/"), "would allow it"));
  EXPECT_FALSE(has(told(*policy, "GET http://localhost/"), "would allow it"));
}

TEST(Explain, KnowsATunnelFromARequest) {
  auto policy = testing::policy_of({"{id: h, allow: 'http://a.test/**'}", "{id: t, allow: 'tls://b.test'}"});
  EXPECT_TRUE(has(told(*policy, "tls://a.test:80"), "denied: not_http"));
  EXPECT_TRUE(has(told(*policy, "tcp://b.test:443"), "denied: not_tls"));
  EXPECT_TRUE(has(told(*policy, "GET http://b.test:443/"), "denied: tunnel_only"));
  EXPECT_TRUE(has(told(*policy, "CONNECT a.test:80"), "each request in it is decided for itself"));
  EXPECT_TRUE(has(told(*policy, "b.test"), "an address of the task's own"));
}

TEST(Explain, ShowsTheNearestOfThousands) {
  std::string text = "policy: big/1\nrules:\n";
  for (int i = 0; i < 5000; ++i) text += "- allow: GET http://h" + std::to_string(i) + ".test/v1\n";
  text += "- {id: near, allow: 'GET http://www.shop.example/v2/x'}\n";
  auto policy = load(text, "p").policy;
  auto out = told(*policy, "GET http://www.shop.example/v2/y");
  EXPECT_TRUE(has(out, "the nearest of the other rules:\n  line 5003  near")) << out;
  EXPECT_TRUE(has(out, "and 4991 more")) << out;
}

TEST(Explain, PrintsNothingThatATerminalWouldObey) {
  auto policy = testing::policy_of({"allow: http://a.test/**"});
  for (std::string_view text : {"G\x1b[2JET http://a.test/", "GET http://a.test/%1b", "GET http://a.test/\x07"}) {
    auto out = told(*policy, text);
    for (char c : out) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << out;
  }
}

TEST(RunTests, TellsLineExpectationAndReason) {
  auto outcome = load(R"(policy: p/1
rules:
  - id: api
    allow: GET http://a.test/v1/**
tests:
  - allow: GET http://a.test/v1/x
    rule: api
  - deny: tls://a.test
  - allow: POST http://a.test/v1/x
  - deny: GET http://a.test/v1/y
)",
                      "p.yaml");
  ASSERT_TRUE(outcome.policy) << testing::all_text(outcome);
  auto report = run_tests(*outcome.policy, *outcome.document);
  EXPECT_EQ(report.tests, 4u);
  ASSERT_EQ(report.failures.size(), 2u);
  EXPECT_EQ(report.failures[0].at.line, 9u);
  EXPECT_EQ(report.failures[0].expected, "allowed");
  EXPECT_TRUE(has(report.failures[0].got, "denied, method_not_allowed"));
  EXPECT_EQ(report.failures[1].got, "allowed, by rule api in line 4");
  EXPECT_TRUE(has(render(report, "p.yaml"), "p.yaml: 2 passed, 2 failed\n"));
}

Recorded recorded(std::string_view text, ReasonCode reason = ReasonCode::kNoRule) {
  return {Inquiry::parse(text).value(), reason, 1};
}

TEST(Suggest, AllowsWhatWasRecordedAndNothingBeside) {
  std::vector<Recorded> log{recorded("GET http://a.test/v1/items/1"),
                            recorded("GET http://a.test/v1/items/22"),
                            recorded("GET http://a.test/v1/items/333"),
                            recorded("HEAD http://a.test/v1/items/1"),
                            recorded("POST http://a.test/v1/orders", ReasonCode::kAllowed),
                            recorded("tls://b.test"),
                            recorded("CONNECT c.test:8443"),
                            recorded("d.test"),
                            recorded("GET http://e.test:81/x;y"),
                            recorded("GET http://e.test:81/f*o"),
                            recorded("tcp://192.0.2.1:22")};
  auto suggestion = suggest(log, "seen", "audit.jsonl");
  auto outcome = load(suggestion.text, "s.yaml");
  ASSERT_TRUE(outcome.policy) << suggestion.text << testing::all_text(outcome);
  for (const auto& one : log)
    EXPECT_TRUE(ask(*outcome.policy, one.inquiry).allowed()) << one.inquiry.text() << suggestion.text;
  EXPECT_TRUE(has(suggestion.text, "- allow: GET http://a.test/v1/items/*\n")) << suggestion.text;
  EXPECT_TRUE(has(suggestion.text, "3 or more different ids"));
  for (std::string_view other :
       {"GET http://a.test/v1/other", "POST http://a.test/v1/items/1", "tls://x.b.test", "GET http://a.test/"})
    EXPECT_FALSE(ask(*outcome.policy, Inquiry::parse(other).value()).allowed()) << other;
}

// Whatever was seen beside it, a path stands before the star or ** that covers it: the policy loads.
TEST(Suggest, LoadsWhereOnePathCoversAnother) {
  const std::vector<std::vector<std::string_view>> logs{
      {"GET http://a.test/p/1", "GET http://a.test/p/2", "GET http://a.test/p/3", "GET http://a.test/p/c3"},
      {"GET http://a.test/a;b", "GET http://a.test/x"},
      {"GET http://a.test/a/*", "GET http://a.test/a/b"},
      {"GET http://a.test/a/*", "GET http://a.test/*/b", "GET http://a.test/*/*", "POST http://a.test/x/y",
       "GET http://a.test/a;b", "GET http://a.test/"},
      {"GET http://a.test/**", "GET http://a.test/z", "HEAD http://a.test/z", "HEAD http://a.test/q;r"},
      {"GET http://a.test/p/1/a/1", "GET http://a.test/p/2/a/2", "GET http://a.test/p/3/a/3",
       "GET http://a.test/p/4/a/x", "GET http://a.test/p/5/a/x", "GET http://a.test/p/6/a/x"}};
  for (const auto& asked : logs) {
    std::vector<Recorded> log;
    for (auto text : asked) log.push_back(recorded(text));
    auto suggestion = suggest(log, "seen", "a");
    auto outcome = load(suggestion.text, "s.yaml");
    ASSERT_TRUE(outcome.policy) << suggestion.text << testing::all_text(outcome);
    for (const auto& one : log)
      EXPECT_TRUE(ask(*outcome.policy, one.inquiry).allowed()) << one.inquiry.text() << suggestion.text;
  }
}

TEST(Suggest, KeepsIdsWhereThereAreFew) {
  auto suggestion = suggest({recorded("GET http://a.test/items/1"), recorded("GET http://a.test/items/2"),
                             recorded("GET http://a.test/items/x")},
                            "seen", "a");
  EXPECT_FALSE(has(suggestion.text, "*")) << suggestion.text;
}

TEST(Suggest, LeavesOutWhatWasDeniedOnPurpose) {
  auto suggestion = suggest({recorded("tls://bad.test", ReasonCode::kDeniedByRule),
                             recorded("GET http://169.254.169.254/", ReasonCode::kFloor),
                             recorded("tls://a.test", ReasonCode::kBudgetConnections)},
                            "seen", "a");
  EXPECT_EQ(suggestion.rules, 0u) << suggestion.text;
  EXPECT_TRUE(has(suggestion.text, "#   tls://bad.test:443  (denied_by_rule)"));
  EXPECT_TRUE(load(suggestion.text, "s").policy);
}

TEST(Replay, TellsWhatWouldBeDecidedOtherwise) {
  auto policy = testing::policy_of({"allow: tls://a.test"});
  auto out = replay(
      *policy, {recorded("tls://a.test"), recorded("tls://a.test"), recorded("tls://b.test"),
                recorded("tls://c.test", ReasonCode::kAllowed), recorded("tls://a.test", ReasonCode::kBudgetUpload)});
  ASSERT_EQ(out.changes.size(), 2u);
  EXPECT_EQ(out.changes[0].count, 2u);
  EXPECT_TRUE(out.changes[0].allowed_now);
  EXPECT_FALSE(out.changes[1].allowed_now);
  EXPECT_EQ(out.same, 1u);
  EXPECT_EQ(out.passed_over, 1u);
  EXPECT_TRUE(has(render(out), "3 decisions would be others, 1 the same, 1 were not the policy's\n"));
}

}  // namespace
}  // namespace sallyport::policy::review
