#include "policies/engine/load.h"

#include <gtest/gtest.h>

#include "policies/engine/engine_test_support.h"

namespace sallyport::policy {
namespace {

using namespace testing;

TEST(Load, KeepsWhatWasWritten) {
  auto outcome = load(
      "# why\npolicy: catalog-report/3\nrules:\n  - id: prices\n    allow: GET,HEAD "
      "http://api.shop.example/v2/prices/**\n"
      "    limits: {requests: 200, download: 50MiB, connections: {concurrent: 2, total: 9}, duration: 90s}\n  - deny: "
      "tls://telemetry.example\n"
      "budgets:\n  wall: 30m\n  idle: 5m\n  upload: 5MiB\n  download: 1GiB\n  requests: 2000\n  connections: "
      "{concurrent: 64, total: 5000, duration: 2h}\n",
      "catalog.yaml");
  ASSERT_TRUE(outcome.policy) << all_text(outcome);
  EXPECT_TRUE(outcome.diagnostics.empty());
  const auto& p = *outcome.policy;
  EXPECT_EQ(p.label(), "catalog-report/3");
  ASSERT_EQ(p.rules().size(), 2u);
  const Rule& prices = p.rules()[0];
  EXPECT_EQ(prices.id, "prices");
  EXPECT_EQ(prices.line, 5u);
  EXPECT_EQ(prices.text, "GET,HEAD http://api.shop.example/v2/prices/**");
  EXPECT_EQ(prices.limits.requests, 200u);
  EXPECT_EQ(prices.limits.download, ByteCount{50u << 20});
  EXPECT_EQ(prices.limits.connections_concurrent, 2u);
  EXPECT_EQ(prices.limits.connections_total, 9u);
  EXPECT_EQ(prices.limits.duration, std::chrono::seconds(90));
  EXPECT_FALSE(prices.limits.upload);
  EXPECT_EQ(p.rules()[1].id, "rule-2");
  EXPECT_EQ(p.rules()[1].action, Action::kDeny);
  EXPECT_EQ(p.budgets().wall, std::chrono::minutes(30));
  EXPECT_EQ(p.budgets().idle, std::chrono::minutes(5));
  EXPECT_EQ(p.budgets().limits.upload, ByteCount{5u << 20});
  EXPECT_EQ(p.budgets().limits.download, ByteCount{1u << 30});
  EXPECT_EQ(p.budgets().limits.connections_concurrent, 64u);
  EXPECT_EQ(p.budgets().limits.duration, std::chrono::hours(2));
}

TEST(Load, HashesTheBytesOfTheFile) {
  auto a = load("policy: p/1\n", "a").policy, b = load("policy: p/1\n", "b").policy,
       c = load("policy: p/1\n\n", "c").policy;
  EXPECT_EQ(a->sha256(), b->sha256());
  EXPECT_NE(a->sha256(), c->sha256());
  EXPECT_EQ(deny_all()->sha256(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Load, RefusesAMisspeltRestriction) {  // policy-003
  for (auto rule : {"{metods: [GET], allow: 'http://a.test/**'}", "{ports: '443', allow: 'http://a.test/**'}",
                    "{action: alow, host: a.test}"}) {
    auto outcome = load_rules({rule});
    EXPECT_FALSE(outcome.policy) << rule;
    EXPECT_EQ(outcome.diagnostics.at(0).line, 3u);
    EXPECT_EQ(outcome.diagnostics.at(0).column, 6u);
  }
  EXPECT_FALSE(load_rules({"{id: a, allow: 'tls://a.test'}", "{id: a, allow: 'tls://b.test'}"}).policy);
  EXPECT_TRUE(load_rules({"{id: a, allow: 'tls://a.test'}", "{id: b, allow: 'tls://b.test'}"}).policy);
}

TEST(Load, HasNoTermThatATaskCouldSatisfyByNamingItself) {  // policy-012
  for (auto key : {"process", "program", "user_agent", "headers", "cmdline", "uid"})
    EXPECT_FALSE(load_rules({"{allow: 'http://a.test/x', " + std::string(key) + ": curl}"}).policy) << key;
  EXPECT_TRUE(load_rules({"{allow: 'http://a.test/x', content_type: text/plain}"}).policy);
}

TEST(Load, BoundsWhatHasToBeTriedOneByOne) {
  auto rules = [](int count, const std::string& shape) {
    std::vector<std::string> out;
    for (int i = 0; i < count; ++i) {
      std::string path = shape;
      path.replace(path.find('#'), 1, std::to_string(i));
      out.push_back("allow: GET http://a.test" + path);
    }
    return load_rules(out).policy != nullptr;
  };
  EXPECT_FALSE(rules(300, "/v/*x#x*/a"));
  EXPECT_TRUE(rules(250, "/v/*x#x*/a"));
  for (auto shape : {"/v/p#-*/a", "/v/*-s#", "/v/**/l#", "/v/l#/**", "/v/*/l#"}) EXPECT_TRUE(rules(2000, shape)) << shape;
}

TEST(Load, RefusesWildcardsThatAreTooWide) {  // input-021
  for (auto host : {"login.*.test", "*", "*.com", "a*b.test", "*.", "*.test"}) {
    std::string rule = "allow: tls://" + std::string(host);
    auto outcome = load_rules({rule});
    EXPECT_FALSE(outcome.policy) << host;
    EXPECT_EQ(outcome.diagnostics.at(0).line, 3u);
  }
  EXPECT_TRUE(load_rules({"allow: tls://*.allowed.test"}).policy);
}

TEST(Load, ReadsAUnicodeHostOnlyInItsOneAsciiForm) {  // input-009, input-010
  auto p =
      policy_of({"allow: tls://b\xc3\xbc"
                 "cher.test"});
  EXPECT_EQ(ask_name(*p, "xn--bcher-kva.test"), ReasonCode::kAllowed);
  EXPECT_FALSE(
      Target::parse("b\xc3\xbc"
                    "cher.test"));
  auto sharp =
      load_rules({"allow: tls://stra\xc3\x9f"
                  "e.test"});
  ASSERT_FALSE(sharp.policy);
  EXPECT_NE(all_text(sharp).find("xn--strae-oqa.test"), std::string::npos);
  EXPECT_NE(all_text(sharp).find("strasse.test"), std::string::npos);
  EXPECT_TRUE(load_rules({"allow: tls://xn--strae-oqa.test"}).policy);
}

TEST(Load, SaysWherePrecisely) {
  auto outcome =
      load("policy: p/1\nrules:\n  - id: a\n    allow: tls://a.test\n    limits: {requests: 1}\n", "dir/p.yaml");
  ASSERT_EQ(outcome.diagnostics.size(), 1u);
  EXPECT_EQ(render(outcome.diagnostics[0]),
            "dir/p.yaml:5:14: error: a limit of requests on an opaque rule: nothing in a tunnel counts requests\n"
            "  read:  requests\n  write: connections:, duration:, upload: or download:\n");
}

TEST(Load, NeverShowsWhatAFileHidesFromATerminal) {
  auto outcome = load("policy: \"p\\u001b[31m/1\"\n", "evil\x1b[2J.yaml");
  for (char c : all_text(outcome)) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f));
  EXPECT_FALSE(outcome.policy);
}

TEST(Load, HasMaxima) {
  std::string large = "policy: p/1\n#" + std::string(kMaxPolicyBytes, 'x');
  EXPECT_FALSE(load(large, "p").policy);
  EXPECT_TRUE(load(large.substr(0, kMaxPolicyBytes), "p").policy);
  EXPECT_FALSE(load(std::string(1'000'000, '['), "p").policy);
  EXPECT_FALSE(load("policy: p/1\nrules: " + std::string(100'000, '{'), "p").policy);
  std::string many = "policy: p/1\nrules:\n";
  for (int i = 0; i < 300; ++i) many += "  - alow: x\n";
  EXPECT_EQ(load(many, "p").diagnostics.size(), kMaxDiagnostics + 1);
}

TEST(Load, FindsADuplicateAmongManyKeys) {
  std::string text = "policy: p/1\n";
  for (int i = 0; i < 40; ++i) text += "k" + std::to_string(i) + ": 1\n";
  auto says_twice = [](const LoadOutcome& o) {
    return all_text(o).find("stands twice, first in line 5") != std::string::npos;
  };
  EXPECT_FALSE(says_twice(load(text, "p")));
  EXPECT_TRUE(says_twice(load(text + "k3: 2\n", "p")));
}

}  // namespace
}  // namespace sallyport::policy
