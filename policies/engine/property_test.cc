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
  return text == nullptr ? 2500 : std::atoi(text);
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
    if (r.scheme == "http" && r.allow && one_in(3)) terms(r);
    return r;
  }

  void terms(naive::Rule& r) {
    if (!one_in(3)) {
      r.query.emplace();
      if (!one_in(4)) r.query->push_back({"a", one_in(2) ? std::vector<std::string>{"1", "2"} : std::vector<std::string>{"1"}, one_in(2)});
      if (one_in(2)) r.query->push_back({"b", {"1"}, one_in(2)});
    }
    if (one_in(2)) r.types = one_in(2) ? std::vector<std::string>{"a/b", "c/d"} : std::vector<std::string>{"a/b"};
  }

  std::string query() {
    if (one_in(2)) return "";
    return of({"a=1", "a=2", "b=1", "a=1&b=1", "b=1&a=2", "a=1&a=1", "%61=1", "a=%31", "a=1&c=1", "a", "A=1", "a=1&b=1&b=1", "a=1&"});
  }
  naive::Request request() {
    naive::Request r{host(), method(), path(), query(), one_in(2) ? "" : of({"a/b", "c/d", "e/f"}), 80};
    r.port = port();
    return r;
  }

 private:
  std::mt19937 engine_;
};

std::string policy_text(const std::vector<naive::Rule>& rules) {
  std::string text = "policy: random/1\nrules:\n";
  for (const auto& r : rules) text += "  - " + r.entry() + "\n";
  return text;
}

using Question = naive::Request;

// Which rule decides this question, whichever way it is asked.
std::optional<std::size_t> naive_rule(const std::vector<naive::Rule>& rules, const Question& q) {
  if (auto rule = naive::decide_http(rules, q)) return rule;
  return naive::decide_tunnel(rules, q.host, q.port);
}

struct Ceiling {
  std::vector<naive::Rule> rules;
  std::shared_ptr<const CompiledPolicy> policy;
};

bool lets_through(const Ceiling* ceiling, const std::vector<naive::Rule>& rules, std::size_t rule, const Question& q) {
  if (ceiling == nullptr) return true;
  if (rules[rule].scheme == "http") return naive::lets_request(ceiling->rules, q);
  return naive::lets_tunnel(ceiling->rules, rules[rule], q.host, q.port);
}

// Takes out the rules that the loader objects to, and holds it to its objections.
std::shared_ptr<const CompiledPolicy> settle(std::vector<naive::Rule>& rules, Dice& dice, const Ceiling* ceiling = nullptr) {
  for (;;) {
    auto outcome = load(policy_text(rules), "random", {ceiling == nullptr ? nullptr : ceiling->policy});
    if (outcome.policy) return outcome.policy;
    std::set<std::size_t, std::greater<>> faulty;
    for (const auto& d : outcome.diagnostics) {
      if (d.severity != Severity::kError) continue;
      std::size_t at = d.line - 3;
      EXPECT_LT(at, rules.size()) << render(d);
      faulty.insert(at);
      bool idle = d.message.find("never") != std::string::npos, beyond = d.message.find("lets nothing through") != std::string::npos;
      for (int i = 0; (idle || beyond) && i < 30 && rules[at].allow; ++i) {
        Question q = dice.request();
        if (naive_rule(rules, q) == at) EXPECT_TRUE(beyond && !lets_through(ceiling, rules, at, q)) << policy_text(rules) << render(d);
      }
    }
    for (std::size_t at : faulty) rules.erase(rules.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

HttpVerdict ask_engine(const CompiledPolicy& policy, const Question& q) {
  ContentType body;
  body.set_body(!q.type.empty());
  if (!q.type.empty()) body.see("content-type", q.type);
  auto path = CanonicalPath::parse(q.path).value();
  return decide_http(policy, {Target(name(q.host)), Port::of(static_cast<std::uint16_t>(q.port)), q.method, path, q.query, {}, body});
}

void compare(const CompiledPolicy& policy, const std::vector<naive::Rule>& rules, const Question& q, const Ceiling* ceiling = nullptr) {
  auto told = [&] {
    return (ceiling == nullptr ? "" : policy_text(ceiling->rules)) + policy_text(rules) + q.method + " " + q.host + ":" +
           std::to_string(q.port) + q.path + "?" + q.query + " " + q.type;
  };
  auto http = naive::decide_http(rules, q);
  if (http && !lets_through(ceiling, rules, *http, q)) http.reset();
  auto verdict = ask_engine(policy, q);
  ASSERT_EQ(verdict.allowed(), http.has_value()) << told();
  ASSERT_EQ(verdict.destination.has_value(), http.has_value());
  if (http) ASSERT_EQ(verdict.rule->index, *http) << told();

  auto tunnel = naive::decide_tunnel(rules, q.host, q.port);
  if (tunnel && !lets_through(ceiling, rules, *tunnel, q)) tunnel.reset();
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
    for (int i = 0; i < 30; ++i) {
      Question q = dice.request();
      compare(*policy, rules, q);
      if (HasFatalFailure()) return;
      allowed += naive_rule(rules, q) ? 1 : 0;
      ++asked;
    }
  }
  EXPECT_GT(allowed, asked / 50);  // the words are few enough to tell something
  EXPECT_LT(allowed, asked / 2);
}

TEST(Property, EngineAndNaiveReadingAgreeUnderACeiling) {
  std::size_t allowed = 0, held_back = 0;
  for (int round = 0; round < rounds() / 2; ++round) {
    Dice dice(static_cast<unsigned>(round) + 50'000);
    Ceiling ceiling;
    for (std::size_t n = dice.below(6) + 1; n > 0; --n) ceiling.rules.push_back(dice.rule());
    ceiling.policy = settle(ceiling.rules, dice);
    std::vector<naive::Rule> rules;
    for (std::size_t n = dice.below(8) + 1; n > 0; --n) rules.push_back(dice.rule());
    auto policy = settle(rules, dice, &ceiling);
    for (int i = 0; i < 20; ++i) {
      Question q = dice.request();
      compare(*policy, rules, q, &ceiling);
      if (HasFatalFailure()) return;
      auto own = naive_rule(rules, q);
      if (own) ++(lets_through(&ceiling, rules, *own, q) ? allowed : held_back);
    }
  }
  EXPECT_GT(allowed, 100u);
  EXPECT_GT(held_back, 100u);
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
