// Random policies and requests, decided by the engine and by naive_policy.h. Seeds are fixed; SALLYPORT_PROPERTY_ROUNDS
// sets how many policies are tried.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>

#include "policies/engine/engine_test_support.h"
#include "policies/engine/naive_policy.h"
#include "policies/engine/path_rules.h"

namespace sallyport::policy {
namespace {

using namespace testing;

int rounds() {
  const char* text = std::getenv("SALLYPORT_PROPERTY_ROUNDS");
  return text == nullptr ? 1500 : std::atoi(text);
}

// Few words, so that rules meet.
class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine_); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  std::string of(std::initializer_list<const char*> words) { return *(words.begin() + below(words.size())); }

  std::string host() { return of({"a.test", "b.a.test", "c.b.a.test", "d.a.test", "x.test", "b.x.test"}); }
  std::string host_pattern() { return one_in(3) ? "*." + of({"a.test", "b.a.test", "x.test"}) : host(); }
  int port() { return one_in(4) ? 81 : 80; }
  std::string method() { return of({"GET", "POST", "PUT", "DELETE"}); }
  std::string methods() { return of({"", "", "GET", "GET,POST", "DELETE", "GET,POST,PUT,DELETE"}); }

  std::string segment() { return of({"a", "b", "ab", "ba", "aab"}); }
  std::string pattern_segment() { return one_in(3) ? of({"*", "a*", "*b", "a*b", "*a*"}) : segment(); }
  std::string path() {
    std::string out;
    for (std::size_t n = below(4) + 1; n > 0; --n) out += "/" + segment();
    return one_in(4) ? (one_in(3) ? "/" : out + "/") : out;
  }
  std::string path_pattern() {
    std::string out;
    bool deep = false;
    for (std::size_t n = below(4); n > 0; --n) {
      deep = !deep && one_in(5);
      out += deep ? "/**" : "/" + pattern_segment();
    }
    if (out.empty()) return one_in(4) ? "/" : "/**";
    if (!deep && one_in(3)) out += "/**";
    return out;
  }

  naive::Rule rule() {
    naive::Rule r;
    r.allow = !one_in(4);
    r.host = host_pattern();
    r.port = port();
    r.scheme = r.port == 80 || one_in(3) ? "http" : of({"tls", "tcp"});
    if (r.scheme == "http") r.methods = methods(), r.path = path_pattern();
    return r;
  }

 private:
  std::mt19937 engine_;
};

std::string policy_text(const std::vector<naive::Rule>& rules) {
  std::string text = "policy: random/1\nrules:\n";
  for (const auto& r : rules) text += std::string("  - ") + (r.allow ? "allow: " : "deny: ") + r.text() + "\n";
  return text;
}

struct Question {
  std::string host, method, path;
  int port;
};

Question question(Dice& dice) { return {dice.host(), dice.method(), dice.path(), dice.port()}; }

// Which rule decides this question, whichever way it is asked.
std::optional<std::size_t> naive_rule(const std::vector<naive::Rule>& rules, const Question& q) {
  if (auto rule = naive::decide_http(rules, q.host, q.port, q.method, q.path)) return rule;
  return naive::decide_tunnel(rules, q.host, q.port);
}

// Takes out the rules that the loader objects to, and holds it to its objections.
std::shared_ptr<const CompiledPolicy> settle(std::vector<naive::Rule>& rules, Dice& dice) {
  for (;;) {
    auto outcome = load(policy_text(rules), "random");
    if (outcome.policy) return outcome.policy;
    std::set<std::size_t, std::greater<>> faulty;
    for (const auto& d : outcome.diagnostics) {
      std::size_t at = d.line - 3;
      EXPECT_LT(at, rules.size()) << render(d);
      faulty.insert(at);
      bool idle = d.message.find("never") != std::string::npos;
      for (int i = 0; idle && i < 30 && rules[at].allow; ++i)
        EXPECT_NE(naive_rule(rules, question(dice)), at) << policy_text(rules) << render(d);
    }
    for (std::size_t at : faulty) rules.erase(rules.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

void compare(const CompiledPolicy& policy, const std::vector<naive::Rule>& rules, const Question& q) {
  auto told = [&] { return policy_text(rules) + q.method + " " + q.host + ":" + std::to_string(q.port) + q.path; };
  auto http = naive::decide_http(rules, q.host, q.port, q.method, q.path);
  auto verdict = verdict_http(policy, q.method, q.host, q.path, {}, static_cast<std::uint16_t>(q.port));
  ASSERT_EQ(verdict.allowed(), http.has_value()) << told();
  ASSERT_EQ(verdict.destination.has_value(), http.has_value());
  if (http) ASSERT_EQ(verdict.rule->index, *http) << told();

  auto tunnel = naive::decide_tunnel(rules, q.host, q.port);
  auto connection = decide_connection(policy, {Target(name(q.host)), Port::of(static_cast<std::uint16_t>(q.port))});
  ASSERT_EQ(connection.destination.has_value(), tunnel.has_value()) << told();
  if (tunnel) ASSERT_EQ(connection.rule->index, *tunnel) << told();
  if (http) {
    ASSERT_TRUE(connection.allowed()) << told();
    ASSERT_EQ(connection.treatment, Treatment::kHttp) << told();
  }
  bool known = decide_name(policy, name(q.host)).allowed();
  if (http || tunnel) ASSERT_TRUE(known) << told();
  if (known)
    ASSERT_TRUE(std::ranges::any_of(rules, [&](const auto& r) {
      return r.allow && naive::host_matches(r.host, q.host);
    })) << told();
  if (!verdict.allowed() && verdict.rule) ASSERT_FALSE(rules[verdict.rule->index].allow) << told();
  if (verdict.nearest) ASSERT_TRUE(naive::host_matches(rules[verdict.nearest->index].host, q.host)) << told();
}

TEST(Property, EngineAndNaiveReadingAgree) {
  std::size_t allowed = 0, asked = 0;
  for (int round = 0; round < rounds(); ++round) {
    Dice dice(static_cast<unsigned>(round));
    std::vector<naive::Rule> rules;
    for (std::size_t n = dice.one_in(5) ? 40 : dice.below(8) + 1; n > 0; --n) rules.push_back(dice.rule());
    auto policy = settle(rules, dice);
    for (int i = 0; i < 40; ++i) {
      Question q = question(dice);
      compare(*policy, rules, q);
      if (HasFatalFailure()) return;
      allowed += naive_rule(rules, q) ? 1 : 0;
      ++asked;
    }
  }
  EXPECT_GT(allowed, asked / 50);  // the words are few enough to tell something
  EXPECT_LT(allowed, asked / 2);
}

TEST(Property, CoversIsSound) {
  Dice dice(7);
  int covered = 0;
  for (int round = 0; round < rounds() * 4; ++round) {
    std::string wide = dice.path_pattern(), narrow = dice.path_pattern();
    if (!PathPattern::parse(wide).value().covers(PathPattern::parse(narrow).value())) continue;
    ++covered;
    for (int i = 0; i < 30; ++i) {
      std::string path = dice.path();
      if (naive::path_matches(narrow, path))
        ASSERT_TRUE(naive::path_matches(wide, path)) << wide << " " << narrow << " " << path;
    }
  }
  EXPECT_GT(covered, rounds() / 10);
}

TEST(Property, TheTrieFindsWhatTryingEachWouldFind) {
  for (int round = 0; round < rounds() / 5; ++round) {
    Dice dice(static_cast<unsigned>(round) + 100'000);
    std::vector<std::string> texts;
    for (std::size_t n = dice.below(60) + 1; n > 0; --n) texts.push_back(dice.path_pattern());
    std::vector<PathPattern> patterns;
    for (const auto& text : texts) patterns.push_back(PathPattern::parse(text).value());
    PathRules rules;
    for (std::uint32_t i = 0; i < patterns.size(); ++i) rules.add({&patterns[i], *MethodSet::of(dice.method()), i, nullptr});
    for (int i = 0; i < 30; ++i) {
      std::string path = dice.path();
      PathTokens tokens;
      split_path(path, tokens);
      MethodSet method = *MethodSet::of(dice.method());
      PathRules::Found expected;
      for (const auto& entry : rules.entries()) {
        if (!naive::path_matches(texts[entry.rule], path)) continue;
        expected.path_only = std::min(expected.path_only, entry.rule);
        if (entry.methods.holds(method)) expected.match = std::min(expected.match, entry.rule);
      }
      auto found = rules.find({tokens, method});
      ASSERT_EQ(found.match, expected.match) << path;
      if (found.match == kNoRuleIndex) ASSERT_EQ(found.path_only, expected.path_only) << path;
    }
  }
}

// Bytes that mean something to YAML, to the language, and to neither: loading always ends, and only with a reason.
TEST(Property, LoadAlwaysAnswers) {
  Dice dice(9);
  for (int round = 0; round < rounds() * 2; ++round) {
    std::string text = dice.one_in(2) ? "policy: p/1\nrules:\n  - allow: " : "";
    for (std::size_t n = dice.below(40); n > 0; --n)
      text +=
          dice.of({"policy: ", "rules:",     "\n",     "\n  - ", "allow: ", "deny: ", "{",   "}",        "[",   "]",
                   ", ",       "http://",    "tls://", "tcp://", "*.",      "a.test", ":80", "/**",      "/a",  "GET ",
                   "limits: ", "requests: ", "1",      "MiB",    "&a ",     "*a",     "!t ", "'",        "\"",  "\\",
                   "\t",       "#",          "|\n",    "? ",     ": ",      "- ",     "%",   "\xc3\xbc", "\xff"});
    auto outcome = load(text, "p");
    bool failed =
        std::ranges::any_of(outcome.diagnostics, [](const Diagnostic& d) { return d.severity == Severity::kError; });
    ASSERT_EQ(outcome.policy == nullptr, failed) << text;
  }
}

}  // namespace
}  // namespace sallyport::policy
