#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "policies/catalogue/catalogue.h"
#include "policies/edit/add.h"
#include "policies/edit/format.h"
#include "policies/edit/init.h"
#include "policies/engine/engine_test_support.h"
#include "policies/review/diff.h"
#include "policies/review/explain.h"
#include "policies/review/run_tests.h"

namespace sallyport::policy::edit {
namespace {

namespace fs = std::filesystem;

std::string formatted(std::string_view text) {
  auto out = format(text, "p.yaml");
  std::string said;
  for (const auto& d : out.diagnostics) said += render(d);
  return out.text.value_or(said);
}

TEST(Format, LaysOutInOneWayAndKeepsComments) {
  EXPECT_EQ(formatted(R"(# head
policy:   "p/1"


rules:    # all of them
# the api
- { id: api, allow: 'GET http://a.test/v1/**', limits: {requests: 5,
      download: 1MiB} }   # counted
-    deny:   tls://b.test
budgets: {wall: 5m, connections: {total: 7}}
# tail
)"),
            R"(# head
policy: p/1

rules:  # all of them
  # the api
  - id: api
    allow: GET http://a.test/v1/**
    limits: {requests: 5, download: 1MiB}  # counted
  - deny: tls://b.test
budgets:
  wall: 5m
  connections: {total: 7}
# tail
)");
}

TEST(Format, QuotesOnlyWhatNeedsIt) {
  auto text = formatted(
      "policy: p/1\nrules:\n- allow: \"GET http://a.test/p\"\n  query: {page: {regex: \"[0-9]{1,4}\"}, q: {one_of: ['a "
      "b', \"it's\"]}}\n");
  EXPECT_NE(text.find("  - allow: GET http://a.test/p\n"), text.npos) << text;
  EXPECT_NE(text.find("regex: '[0-9]{1,4}'"), text.npos) << text;
  EXPECT_NE(text.find("it's"), text.npos) << text;
}

// A comment behind a part of a map in braces moves to another line, and what it kept apart fits into one line then.
TEST(Format, IsDoneAfterOnceWithCommentsInBraces) {
  for (std::string_view text : {R"(# top
policy: "p/1" # name
rules: # the rules
  - {id: one, allow: "GET http://h.test/a/**", # why
     limits: {requests: 5, # five
       upload: 5KiB}} # end
  -   # odd dash
    allow: tls://g.test
budgets: {wall: 30m # wall
  }
)",
                                R"(policy: p/1
rules:
  - id: one
    allow: GET http://h.test/a/**
    limits: # five
      {requests: 5, # six
       upload: 5KiB} # seven
)"}) {
    auto once = format(text, "p.yaml");
    ASSERT_TRUE(once.text) << formatted(text);
    EXPECT_EQ(formatted(*once.text), *once.text) << text;
  }
}

TEST(Format, RefusesWhatDoesNotLoad) {
  auto out = format("policy: p/1\nrules:\n- allow: a.test\n", "p.yaml");
  EXPECT_FALSE(out.text);
  ASSERT_FALSE(out.diagnostics.empty());
  EXPECT_EQ(out.diagnostics[0].line, 3u);
}

std::vector<std::string> every_policy() {
  std::vector<std::string> out;
  for (const char* folder : {"policies/examples", "policies/golden"})
    for (const auto& entry : fs::directory_iterator(fs::path(SALLYPORT_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".yaml") continue;
      std::stringstream text;
      text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      if (load(text.str(), "f").policy) out.push_back(text.str());
    }
  return out;
}

TEST(Format, ChangesNoMeaningAndIsDoneAfterOnce) {
  auto all = every_policy();
  EXPECT_GT(all.size(), 12u);
  for (const auto& text : all) {
    auto once = format(text, "f");
    ASSERT_TRUE(once.text) << text;
    EXPECT_EQ(*format(*once.text, "f").text, *once.text) << text;
    auto before = load(text, "f").policy, after = load(*once.text, "f").policy;
    EXPECT_TRUE(review::diff(*before, *after).is_same()) << *once.text;
    ASSERT_EQ(before->rules().size(), after->rules().size());
    EXPECT_EQ(before->budgets(), after->budgets());
  }
}

constexpr std::string_view kFile = R"(# mine
policy: p/1
rules:
    # first
    - id: api   # counted
      allow: GET http://a.test/v1/**
      limits: {requests: 5}
    - deny: http://b.test/admin/**

# the whole task
budgets: {wall: 5m}
)";

TEST(Add, PutsOneRuleAndTouchesNothingElse) {
  auto added = add(kFile, "p.yaml", "GET http://b.test/x?y=1", "");
  ASSERT_EQ(added.kind, Added::Kind::kAdded) << added.why;
  EXPECT_EQ(added.line, 9u);
  std::string expected(kFile);
  expected.insert(expected.find("\n# the whole task"), "    - allow: GET http://b.test/x\n");
  EXPECT_EQ(added.text, expected);
}

TEST(Add, TakesAnIdAndStars) {
  auto added = add(kFile, "p.yaml", "GET,HEAD http://b.test/v2/**", "second");
  ASSERT_EQ(added.kind, Added::Kind::kAdded) << added.why;
  EXPECT_NE(added.text.find("    - id: second\n      allow: GET,HEAD http://b.test/v2/**\n"), std::string::npos)
      << added.text;
  EXPECT_EQ(add(kFile, "p.yaml", "tls://c.test", "Bad Id").kind, Added::Kind::kRefused);
}

TEST(Add, RefusesWithTheReason) {
  EXPECT_EQ(add(kFile, "p.yaml", "GET http://a.test/v1/x", "").kind, Added::Kind::kAlready);
  EXPECT_EQ(add(kFile, "p.yaml", "GET http://a.test/v1/**", "").kind, Added::Kind::kAlready);
  auto denied = add(kFile, "p.yaml", "GET http://b.test/admin/x", "");
  // Where no allow rule is about a host the denial of one path is not what decides.
  EXPECT_EQ(denied.kind, Added::Kind::kRefused) << denied.text;
  EXPECT_EQ(add(kFile, "p.yaml", "a.test", "").kind, Added::Kind::kRefused);
  EXPECT_EQ(add(kFile, "p.yaml", "GET http://169.254.169.254/", "").kind, Added::Kind::kRefused);
  EXPECT_EQ(add(kFile, "p.yaml", "tls://a.test:80", "").kind,
            Added::Kind::kRefused);  // readable and opaque on one port
  EXPECT_EQ(add("policy: p\n", "p.yaml", "tls://a.test", "").kind, Added::Kind::kRefused);
  EXPECT_EQ(add("policy: p/1\nrules: [{allow: tls://a.test}]\n", "p.yaml", "tls://b.test", "").kind,
            Added::Kind::kRefused);
}

// What looks like a comment is the end of a quoted text.
TEST(Add, WritesNothingIntoAQuotedText) {
  constexpr std::string_view kQuoted =
      "policy: p/1\nrules:\n  - allow: GET http://h.test/a\n    query:\n      a: 'x\n  # y'\nbudgets: {wall: 3m}\n";
  ASSERT_TRUE(load(kQuoted, "p.yaml").policy);
  for (std::string_view wanted : {"GET,POST http://new.test/x", "GET http://new.test/x", "tls://new.test"}) {
    auto added = add(kQuoted, "p.yaml", wanted, "");
    EXPECT_EQ(added.kind, Added::Kind::kRefused) << added.text;
    EXPECT_TRUE(added.text.empty());
    EXPECT_NE(added.why.find("policy fmt"), std::string::npos) << added.why;
  }
  // Once it is laid out anew there is a place.
  EXPECT_EQ(add(formatted(kQuoted), "p.yaml", "GET,POST http://new.test/x", "").kind, Added::Kind::kAdded);
}

// As explain offers it: a rule without query: would void that of the other.
TEST(Add, KeepsToTheTermsOfTheRulesBeside) {
  constexpr std::string_view kTerms =
      "policy: p/1\nrules:\n  - id: r\n    allow: GET http://h.test/a/**\n    query: {k: '1'}\n    content_type: "
      "application/json\n";
  for (std::string_view wanted :
       {"GET http://h.test/a/b?k=2", "GET http://h.test/a/b,c?q=x+y&%C3%A9=%27", "POST http://h.test/a/b"}) {
    auto policy = load(kTerms, "p").policy;
    auto inquiry = review::Inquiry::parse(wanted).value();
    auto offered = review::explain(*policy, inquiry).would_allow;
    for (std::string_view id : {"", "new"}) {
      auto added = add(kTerms, "p.yaml", wanted, id);
      ASSERT_EQ(added.kind, Added::Kind::kAdded) << added.why;
      EXPECT_EQ(added.rule, offered);
      auto with = load(added.text, "p").policy;
      EXPECT_TRUE(review::ask(*with, inquiry).allowed()) << added.text;
      for (std::string_view other : {"GET http://h.test/a/b?k=3", "GET http://h.test/a/b", "POST http://h.test/a/b?x"})
        EXPECT_FALSE(review::ask(*with, review::Inquiry::parse(other).value()).allowed()) << other << added.text;
    }
  }
  EXPECT_EQ(add(kTerms, "p.yaml", "GET http://h.test/a/b?k=2&k=3", "").kind, Added::Kind::kRefused);
  EXPECT_EQ(add(kTerms, "p.yaml", "GET http://new.test/a;b", "").kind, Added::Kind::kRefused);
}

TEST(Add, FindsADashThatStandsAlone) {
  constexpr std::string_view kAlone =
      "policy: p/1\nrules:\n  -\n    # a-b\n    allow: GET http://my-g.test/a/**\n  # about budgets\nbudgets: {wall: "
      "3m}\n";
  auto added = add(kAlone, "p.yaml", "tls://new.test", "");
  ASSERT_EQ(added.kind, Added::Kind::kAdded) << added.why;
  std::string expected(kAlone);
  expected.insert(expected.find("  # about"), "  - allow: tls://new.test\n");
  EXPECT_EQ(added.text, expected);
}

TEST(Add, BeginsAListWhereThereIsNone) {
  EXPECT_EQ(add("policy: p/1\n", "p.yaml", "tls://a.test", "").text, "policy: p/1\nrules:\n  - allow: tls://a.test\n");
  EXPECT_EQ(add("policy: p/1\nrules:\nbudgets: {wall: 1m}", "p.yaml", "CONNECT a.test:443", "").text,
            "policy: p/1\nrules:\n  - allow: tls://a.test\nbudgets: {wall: 1m}\n");
}

TEST(Init, WritesWhatLoadsAndPassesItsOwnTests) {
  std::vector<Wishes> wishes{{},
                             {"first", {"pypi"}, {}, false},
                             {"first", {"pypi", "npm"}, {"api.example"}, false},
                             {"first", {}, {"http://api.example/v1/**", "tls://b.example"}, true}};
  for (const auto& entry : catalogue()) wishes.push_back({"one", {std::string(entry.name)}, {}, false});
  for (const auto& wish : wishes) {
    auto text = initial_policy(wish);
    ASSERT_TRUE(text) << text.error().detail;
    auto loaded = load(text.value(), "p.yaml");
    ASSERT_TRUE(loaded.policy) << text.value();
    auto report = review::run_tests(*loaded.policy, *loaded.document);
    EXPECT_GT(report.tests, 0u);
    EXPECT_TRUE(report.failures.empty()) << text.value() << review::render(report, "p");
    EXPECT_EQ(*format(text.value(), "p").text, text.value());
  }
}

TEST(Init, SaysWhatIsWrongWithAWish) {
  for (const Wishes& wish : {Wishes{"first", {"pipy"}, {}, false}, Wishes{"Bad Name", {}, {}, false},
                             Wishes{"first", {}, {"https://a.example/v1"}, false}, Wishes{"first", {}, {"a b"}, false},
                             Wishes{"first", {}, {"x\n- allow: tls://evil.example"}, false},
                             Wishes{"first", {}, {"ftp://a.example"}, false}}) {
    auto text = initial_policy(wish);
    EXPECT_FALSE(text);
    if (!text) EXPECT_EQ(text.error().detail.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace sallyport::policy::edit
