#include "policies/review/diff.h"

#include <gtest/gtest.h>

#include <random>

#include "policies/engine/engine_test_support.h"

namespace sallyport::policy::review {
namespace {

std::shared_ptr<const CompiledPolicy> rules(const std::vector<std::string>& lines) { return testing::policy_of(lines); }

Diff between(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  auto before = rules(a), after = rules(b);
  auto difference = diff(*before, *after);
  for (const auto* list : {&difference.wider, &difference.narrower})
    for (const Change& change : *list) {
      if (!change.witness) continue;
      EXPECT_NE(change.said_a + "|" + change.said_b, "") << change.what;
    }
  return difference;
}

void expect_same(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  EXPECT_TRUE(between(a, b).is_same());
  EXPECT_TRUE(between(b, a).is_same());
}

void expect_wider(const std::vector<std::string>& a, const std::vector<std::string>& b, std::string_view witness) {
  auto forward = between(a, b);
  EXPECT_TRUE(forward.is_wider());
  EXPECT_TRUE(forward.undecided.empty());
  bool seen = false;
  for (const Change& change : forward.wider) seen = seen || (change.witness && change.witness->text() == witness);
  EXPECT_TRUE(seen) << render(forward, "a", "b");
  auto backward = between(b, a);
  EXPECT_FALSE(backward.is_wider()) << render(backward, "b", "a");
  EXPECT_FALSE(backward.narrower.empty());
}

TEST(Diff, SeesNoDifferenceInOrderAndWording) {
  expect_same({"allow: tls://a.test", "allow: GET http://b.test/x"},
              {"allow: GET http://b.test:80/x", "allow: tls://a.test:443"});
  expect_same({"allow: GET,HEAD http://b.test/x"}, {"allow: HEAD,GET http://b.test/x"});
  expect_same({"allow: http://b.test/**", "deny: http://b.test/a/**"},
              {"deny: http://b.test/a/**", "allow: http://b.test/**"});
}

TEST(Diff, FindsTheRequestThatPasses) {
  expect_wider({"allow: tls://a.test"}, {"allow: tls://a.test", "allow: tls://b.test"}, "tls://b.test:443");
  expect_wider({"allow: GET http://a.test/v1/*"}, {"allow: GET http://a.test/v1/**"}, "GET http://a.test/v1/");
  expect_wider({"allow: GET http://a.test/**"}, {"allow: GET,POST http://a.test/**"}, "POST http://a.test/");
  expect_wider({"allow: http://a.test/**", "deny: http://a.test/x/**"}, {"allow: http://a.test/**"},
               "GET http://a.test/x");
  expect_wider({"allow: tls://a.test"}, {"allow: tcp://a.test:443"}, "tcp://a.test:443");
}

TEST(Diff, LooksBelowWildcards) {
  expect_wider({"allow: tls://*.a.test", "deny: tls://*.x.a.test"}, {"allow: tls://*.a.test"},
               "tls://any.x.a.test:443");
  expect_wider({"allow: tls://b.a.test"}, {"allow: tls://*.a.test"}, "tls://any.a.test:443");
  expect_same({"allow: tls://*.a.test"}, {"deny: tls://a.test", "allow: tls://*.a.test"});
}

TEST(Diff, LooksBelowWildcardsWhoseNamesAreWrittenOut) {
  std::vector<std::string> names{"allow: tls://any.a.test"};
  std::string letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  for (char one : letters) {
    names.push_back(std::string("allow: tls://") + one + ".a.test");
    for (char two : letters) {
      names.push_back(std::string("allow: tls://") + one + two + ".a.test");
      for (char three : std::string_view("bcde"))
        names.push_back(std::string("allow: tls://") + one + two + three + ".a.test");
    }
  }
  ASSERT_GT(names.size(), 4096u);
  auto all = names;
  all.push_back("allow: tls://*.a.test");
  auto difference = between(names, all);
  EXPECT_FALSE(difference.wider.empty()) << render(difference, "a", "b");
  EXPECT_FALSE(between(all, names).is_wider());
}

// Where only labels of one byte fit, all that are tried may be taken.
TEST(Diff, CannotDecideBelowAnApexWithoutAFreeName) {
  std::string apex;
  while (apex.size() < 200) apex += std::string(49, 'x') + ".";
  apex += std::string(251 - apex.size() - 5, 'y') + ".test";
  ASSERT_EQ(apex.size(), 251u);
  std::vector<std::string> names;
  for (char one : std::string_view("abcdefghijklmnopqrstuvwxyz0123456789"))
    names.push_back(std::string("allow: tls://") + one + "." + apex);
  auto all = names;
  all.push_back("allow: tls://*." + apex);
  EXPECT_TRUE(between(names, all).is_wider());
  names.pop_back();
  EXPECT_FALSE(between(names, all).wider.empty());
  // Below a name of full length there is none.
  std::string longest = "xx" + apex;
  ASSERT_EQ(longest.size(), HostName::kMaxLength);
  EXPECT_FALSE(between({"allow: tls://a.test"}, {"allow: tls://a.test", "allow: tls://*." + longest}).is_wider());
}

TEST(Diff, CountsAnotherMethodInAFieldAsADifference) {
  // With one rule for both methods a POST may say that it is a GET.
  auto difference =
      between({"allow: GET http://a.test/**", "allow: POST http://a.test/**"}, {"allow: GET,POST http://a.test/**"});
  ASSERT_EQ(difference.wider.size(), 1u);
  EXPECT_NE(difference.wider[0].witness->text().find("X-HTTP-Method-Override"), std::string::npos);
}

TEST(Diff, ComparesLimitsOfWhatBothAllow) {
  auto difference = between({"{allow: 'http://a.test/**', limits: {requests: 10}}"},
                            {"{allow: 'http://a.test/**', limits: {requests: 20}}"});
  ASSERT_EQ(difference.wider.size(), 1u);
  EXPECT_EQ(difference.wider[0].what, "requests: 10 by rule rule-1 (line 3) before, 20 by rule rule-1 (line 3) now");
  EXPECT_TRUE(between({"{allow: 'http://a.test/**', limits: {requests: 20}}"},
                      {"{allow: 'http://a.test/**', limits: {requests: 10}}"})
                  .narrower.size() == 1);
  EXPECT_TRUE(between({"{allow: 'http://a.test/**', limits: {requests: 20}}"},
                      {"{allow: 'http://a.test/**', limits: {requests: 20}}"})
                  .is_same());
}

TEST(Diff, AddsUpTheLimitsOfRulesThatWereSplit) {
  auto difference = between({"{allow: 'http://a.test/**', limits: {requests: 10}}"},
                            {"{allow: 'GET http://a.test/**', limits: {requests: 10}}",
                             "{allow: 'http://a.test/**', limits: {requests: 10}}"});
  bool told = false;
  for (const auto& change : difference.wider)
    told = told || change.what.find("20 by rule rule-1 (line 3), rule-2 (line 4) together") != std::string::npos;
  EXPECT_TRUE(told) << render(difference, "a", "b");
}

TEST(Diff, ComparesBudgets) {
  auto a = load("policy: a/1\nrules:\n- allow: tls://a.test\nbudgets: {requests: 5, wall: 1m}\n", "a").policy;
  auto b = load("policy: a/1\nrules:\n- allow: tls://a.test\nbudgets: {requests: 6}\n", "b").policy;
  EXPECT_EQ(diff(*a, *b).wider.size(), 2u);
  EXPECT_EQ(diff(*b, *a).narrower.size(), 2u);
  EXPECT_FALSE(diff(*b, *a).is_wider());
}

TEST(Diff, LooksAtQueriesAndBodies) {
  std::string open = "allow: GET http://a.test/p",
              narrow = "{allow: 'GET http://a.test/p', query: {page: {regex: '[0-9]{1,4}'}}}";
  auto wider = between({narrow}, {open});
  EXPECT_FALSE(wider.wider.empty());
  auto narrower = between({open}, {narrow});
  EXPECT_FALSE(narrower.is_wider()) << render(narrower, "a", "b");
  EXPECT_FALSE(narrower.narrower.empty());
  EXPECT_TRUE(between({narrow}, {narrow}).is_same());
  expect_same({"{allow: 'PUT http://a.test/p', content_type: [application/json, text/plain]}"},
              {"{allow: 'PUT http://a.test/p', content_type: [text/plain, application/json]}"});
  auto body = between({"{allow: 'PUT http://a.test/p', content_type: application/json}"},
                      {"{allow: 'PUT http://a.test/p', content_type: [application/json, text/plain]}"});
  ASSERT_EQ(body.wider.size(), 1u);
  EXPECT_EQ(body.wider[0].witness->text(), "PUT http://a.test/p (with a body of text/plain)");
}

TEST(Diff, SaysWhatItCannotDecide) {
  auto difference = between({"{allow: 'GET http://a.test/p', query: {page: {regex: '[q-z]{7,9}'}}}"},
                            {"{allow: 'GET http://a.test/p', query: {page: {regex: '[q-z]{7,8}'}}}"});
  EXPECT_TRUE(difference.is_wider());
  EXPECT_FALSE(difference.undecided.empty());
}

// A denial that is taken away opens what the rule below it allows, whether or not a query was found that fits.
TEST(Diff, SeesADenialGoWhereNoQueryCanBeGuessed) {
  std::string allow = "{allow: 'GET http://a.test/**', query: {id: {regex: 'ID-[0-9]{6}'}}}",
              both = "{allow: 'GET,PUT http://a.test/**', query: {id: {regex: 'ID-[0-9]{6}'}}}",
              secret = "deny: http://a.test/secret/**", put = "deny: PUT http://a.test/x";
  EXPECT_TRUE(between({allow, secret}, {allow}).is_wider());
  EXPECT_TRUE(between({both, put}, {both}).is_wider());
  // The other way round, and beside something else that changes.
  for (const auto& [rule, denial] : {std::pair(allow, secret), std::pair(both, put)}) {
    auto narrower = between({rule, "allow: tls://b.test"}, {rule, denial});
    EXPECT_FALSE(narrower.is_wider()) << render(narrower, "a", "b");
    EXPECT_TRUE(between({rule, denial}, {denial, rule}).is_same());
    auto kept = between({rule, denial, "allow: GET,PUT http://a.test/other"}, {rule, denial});
    EXPECT_FALSE(kept.is_wider()) << render(kept, "a", "b");
  }
}

TEST(Diff, SeesADenialOfTheCeilingGo) {
  std::string allow = "- {allow: 'GET http://a.test/**', query: {id: {regex: 'ID-[0-9]{6}'}}}\n",
              secret = "- deny: http://a.test/secret/**\n", more = "- allow: PUT http://a.test/more\n";
  auto top = load("policy: top/1\nrules:\n" + allow + more, "top").policy;
  auto closed = load("policy: top/1\nrules:\n" + allow + more + secret, "top").policy;
  auto under = [](const std::string& rules, const std::shared_ptr<const CompiledPolicy>& ceiling) {
    return load("policy: p/1\nwithin: top/1\nrules:\n" + rules, "p", {ceiling}).policy;
  };
  EXPECT_TRUE(diff(*under(allow, closed), *under(allow, top)).is_wider());
  EXPECT_FALSE(diff(*under(allow, top), *under(allow, closed)).is_wider());
  auto narrower = diff(*under(allow + more, closed), *under(allow, closed));
  EXPECT_FALSE(narrower.is_wider()) << render(narrower, "a", "b");
}

// What a rule was split into may not use the limit once for each, though no request is known that either decides.
TEST(Diff, AddsUpLimitsWhereNoQueryCanBeGuessed) {
  auto rule = [](const std::string& what, int most) {
    return "{allow: '" + what + "', query: {id: {regex: 'ID-[0-9]{6}'}}, limits: {requests: " + std::to_string(most) +
           "}}";
  };
  auto split =
      between({rule("GET,POST http://a.test/x", 5)}, {rule("GET http://a.test/x", 5), rule("POST http://a.test/x", 5)});
  EXPECT_TRUE(split.is_wider());
  ASSERT_EQ(split.undecided.size(), 1u) << render(split, "a", "b");
  EXPECT_NE(split.undecided[0].find("requests: 5 by rule rule-1 (line 3) before, 10 by rule rule-1 (line 3), rule-2 "
                                    "(line 4) together now"),
            std::string::npos)
      << split.undecided[0];
  std::string part = rule("GET http://a.test/api/a/**", 10), whole = rule("GET http://a.test/api/**", 10);
  EXPECT_TRUE(between({whole}, {part, whole}).is_wider());
  std::string name = rule("GET http://b.a.test/x", 10), wildcard = rule("GET http://*.a.test/x", 10);
  EXPECT_TRUE(between({wildcard}, {name, wildcard}).is_wider());

  // Halves are no more than the whole; the same rules are the same, whatever else goes.
  auto halves = between({rule("GET,POST http://a.test/x", 10)},
                        {rule("GET http://a.test/x", 5), rule("POST http://a.test/x", 5)});
  EXPECT_FALSE(halves.is_wider()) << render(halves, "a", "b");
  EXPECT_FALSE(between({whole}, {rule("GET http://a.test/api/**", 9)}).is_same());
  for (const auto& rules : {std::vector{part, whole}, std::vector{name, wildcard}}) {
    expect_same(rules, rules);
    auto more = rules;
    more.push_back("allow: GET http://a.test/other");
    auto narrower = between(more, rules);
    EXPECT_FALSE(narrower.is_wider()) << render(narrower, "a", "b");
  }
}

TEST(Diff, LooksAtRecordsAndTrueAddresses) {
  auto difference = between({"allow: tls://a.test"}, {"{allow: 'tls://a.test', dns: [TXT]}"});
  ASSERT_EQ(difference.wider.size(), 1u);
  EXPECT_EQ(difference.wider[0].witness->text(), "TXT dns://a.test");
  EXPECT_FALSE(between({"allow: tls://a.test"}, {"{allow: 'tls://a.test', dns: real}"}).wider.empty());
  EXPECT_FALSE(between({"allow: tls://a.test"}, {"{allow: 'tls://a.test', ech: allow}"}).wider.empty());
}

TEST(Diff, KnowsTheCeiling) {
  auto ceiling = load("policy: top/1\nrules:\n- allow: tls://*.a.test\n", "top").policy;
  auto bounded = load("policy: p/1\nwithin: top/1\nrules:\n- allow: tls://*.a.test\n", "p", {ceiling}).policy;
  ASSERT_TRUE(bounded);
  auto free = rules({"allow: tls://*.a.test", "allow: tls://b.test"});
  EXPECT_FALSE(diff(*free, *bounded).is_wider());
  EXPECT_TRUE(diff(*bounded, *free).is_wider());
}

// Random policies of few words against every question of a small world.
class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine_); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  std::string of(std::initializer_list<const char*> words) { return *(words.begin() + below(words.size())); }

  std::string rule() {
    std::string action = one_in(4) ? "deny: " : "allow: ";
    std::string host = of({"a.test", "b.a.test", "*.a.test", "*.b.a.test", "x.test", "192.0.2.1"});
    if (!one_in(4)) {
      std::string path;
      for (std::size_t n = below(3); n > 0; --n) path += "/" + of({"a", "b", "*", "a*", "**"});
      if (path.find("**/**") != std::string::npos) path = "/**";
      std::string text = of({"", "", "GET ", "GET,POST ", "POST,PUT "}) + "http://" + host + (one_in(3) ? ":81" : "") +
                         (path.empty() ? of({"/", "/**"}) : path);
      return limited(action, text, true);
    }
    bool tls = one_in(2) && host[0] != '1';
    return limited(action, (tls ? "tls://" : "tcp://") + host + (one_in(2) ? ":443" : ":81"), false);
  }

 private:
  std::string limited(const std::string& action, const std::string& text, bool) {
    if (action == "deny: " || !one_in(4)) return action + "\"" + text + "\"";
    return "{" + action + "\"" + text + "\", limits: {connections: " + of({"1", "2", "3"}) + "}}";
  }
  std::mt19937 engine_;
};

std::shared_ptr<const CompiledPolicy> settle(std::vector<std::string>& lines) {
  for (;;) {
    auto outcome = testing::load_rules(lines);
    if (outcome.policy) return outcome.policy;
    std::size_t at = outcome.diagnostics.front().line - 3;
    for (const auto& d : outcome.diagnostics)
      if (d.severity == Severity::kError) at = std::max<std::size_t>(at, d.line - 3);
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(std::min(at, lines.size() - 1)));
  }
}

std::vector<Inquiry> world() {
  std::vector<Inquiry> out;
  for (const char* host : {"a.test", "b.a.test", "c.b.a.test", "q.a.test", "x.test", "y.x.test", "192.0.2.1"}) {
    auto target = Target::parse(host).value();
    if (!target.is_literal()) out.push_back({Inquiry::Kind::kName, target});
    for (auto port : {Port::of(80), Port::of(81), Port::of(443)}) {
      for (auto kind : {Inquiry::Kind::kTls, Inquiry::Kind::kTcp, Inquiry::Kind::kConnect})
        out.push_back({kind, target, port});
      for (const char* method : {"GET", "POST", "PUT", "DELETE"})
        for (const char* path : {"/", "/a", "/b", "/ab", "/q", "/a/", "/a/b", "/a/a", "/ab/a", "/q/b/a", "/a/b/", "/a;",
                                 "/%61b", "/a?_method=PUT"})
          for (const char* other : {"", "GET", "PUT"}) {
            Inquiry inquiry{Inquiry::Kind::kHttp, target, port};
            inquiry.method = method;
            inquiry.request = CanonicalTarget::parse(path).value();
            inquiry.override = other;
            out.push_back(std::move(inquiry));
          }
    }
  }
  return out;
}

TEST(DiffProperty, NothingPassesThatWasNotTold) {
  auto everything = world();
  int wider = 0, not_wider = 0;
  for (unsigned round = 0; round < 400; ++round) {
    Dice dice(round);
    std::vector<std::string> first, second;
    for (std::size_t n = dice.below(5) + 1; n > 0; --n) first.push_back(dice.rule());
    second = first;
    if (dice.one_in(2) && second.size() > 1)
      second.erase(second.begin() + static_cast<std::ptrdiff_t>(dice.below(second.size())));
    for (std::size_t n = dice.below(3); n > 0; --n)
      second.insert(second.begin() + static_cast<std::ptrdiff_t>(dice.below(second.size() + 1)), dice.rule());
    auto a = settle(first), b = settle(second);
    auto difference = diff(*a, *b);
    ASSERT_TRUE(difference.undecided.empty());
    for (const Change& change : difference.wider) {
      if (!change.witness) continue;
      bool by_verdict = ask(*b, *change.witness).allowed() && !ask(*a, *change.witness).allowed();
      ASSERT_TRUE(by_verdict || change.what.find("connections") != std::string::npos) << change.what;
    }
    difference.is_wider() ? ++wider : ++not_wider;
    bool narrower = !difference.narrower.empty();
    for (const Inquiry& inquiry : everything) {
      bool in_a = ask(*a, inquiry).allowed(), in_b = ask(*b, inquiry).allowed();
      if (in_b && !in_a)
        ASSERT_TRUE(difference.is_wider()) << inquiry.text() << "\n"
                                           << ::testing::PrintToString(first) << ::testing::PrintToString(second);
      if (in_a && !in_b) ASSERT_TRUE(narrower) << inquiry.text();
    }
  }
  EXPECT_GT(wider, 80);
  EXPECT_GT(not_wider, 80);
}

TEST(DiffScale, ComparesManyHostsQuickly) {
  std::string text = "policy: big/1\nrules:\n";
  for (int i = 0; i < 20'000; ++i) text += "- allow: GET http://h" + std::to_string(i) + ".test/v1/*/x\n";
  auto a = load(text, "a").policy;
  auto b = load(text + "- allow: GET http://h77.test/v2\n", "b").policy;
  ASSERT_TRUE(a && b);
  auto difference = diff(*a, *b);
  ASSERT_EQ(difference.wider.size(), 1u);
  EXPECT_EQ(difference.wider[0].witness->text(), "GET http://h77.test/v2");
}

}  // namespace
}  // namespace sallyport::policy::review
