// Each entry of the catalogue: it can be used by its name, keeps what its own tests say, and gives a reason for each host.
#include "policies/catalogue/catalogue.h"

#include <gtest/gtest.h>

#include "policies/engine/catalogue_reader.h"
#include "policies/engine/engine_test_support.h"

namespace sallyport::policy {
namespace {

using namespace testing;
using enum ReasonCode;

LoadOutcome using_text(const std::string& use, const std::string& rules = "") {
  return load("policy: p/1\nuse: " + use + "\n" + (rules.empty() ? "" : "rules:\n" + rules), "p");
}

TEST(Catalogue, KeepsWhatItsTestsSay) {
  for (const CatalogueText& text : catalogue()) {
    std::string label = std::string(text.name) + "/" + std::to_string(text.version);
    Reporter reporter(label);
    auto entry = read_catalogue_entry(text.text, reporter);
    ASSERT_TRUE(entry) << render(reporter.take().at(0));
    EXPECT_EQ(entry->label, label);
    auto outcome = using_text("[" + label + "]");
    ASSERT_TRUE(outcome.policy) << all_text(outcome);
    EXPECT_EQ(outcome.policy->rules().size(), entry->rules.size());
    for (const Rule& rule : outcome.policy->rules()) {
      EXPECT_EQ(rule.origin, label);
      EXPECT_TRUE(rule.id.starts_with(label + "/"));
      EXPECT_EQ(rule.line, 2u);
    }
    int allowed = 0;
    for (const PolicyTest& test : entry->tests) {
      EXPECT_EQ(ask(*outcome.policy, test.question).allowed(), test.expected == Action::kAllow) << label << ": " << test.text;
      allowed += test.expected == Action::kAllow ? 1 : 0;
    }
    EXPECT_GT(allowed, 0) << label;
    EXPECT_LT(allowed, static_cast<int>(entry->tests.size())) << label;
  }
}

TEST(Catalogue, HasTheEntriesThatArePromised) {
  for (auto name : {"pypi", "npm", "debian", "crates", "go-modules", "docker-hub", "huggingface", "anthropic", "openai", "github"})
    EXPECT_GE(newest_version(name), 1u) << name;
  EXPECT_EQ(newest_version("nothing"), 0u);
}

TEST(Use, WantsAVersionThatThereIs) {
  for (auto use : {"[pypi]", "[pypi/0]", "[pypi/99]", "[pypi/01]", "[pipy/1]", "pypi/1", "[]", "[[pypi/1]]", "[pypi/1, pypi/1]", "[{pypi/1: {suite: x}}]",
                   "[{debian/1: {siute: trixie}}]", "[{debian/1: {suite: 'a/b'}}]", "[{debian/1: {mirror: 'a@b.c'}}]", "[{debian/1: {mirror: '169.254.169.254'}}]",
                   "[{debian/1: trixie}]", "[{debian/1: {suite: trixie}, pypi/1: {}}]"}) {
    auto outcome = using_text(use);
    EXPECT_FALSE(outcome.policy) << use;
    EXPECT_FALSE(outcome.diagnostics.empty());
  }
  EXPECT_TRUE(using_text("[pypi/1]").policy);
}

TEST(Use, TakesParametersAndTheSameEntryWithOthers) {
  auto p = using_text("[{debian/1: {suite: trixie, mirror: mirror.test}}, debian/1]").policy;
  ASSERT_TRUE(p);
  EXPECT_EQ(ask_http(*p, "GET", "mirror.test", "/debian/dists/trixie/InRelease"), kAllowed);
  EXPECT_EQ(ask_http(*p, "GET", "mirror.test", "/debian/dists/bookworm/InRelease"), kPathNotAllowed);
  EXPECT_EQ(ask_http(*p, "GET", "deb.debian.org", "/debian/dists/bookworm/InRelease"), kAllowed);
  EXPECT_EQ(p->rules()[7].id, "debian/1.2/release");
}

TEST(Use, ComesAfterTheRulesOfTheFile) {
  auto outcome = using_text("[pypi/1]", "  - {id: mine, allow: 'tls://pypi.org', limits: {connections: 3}}\n  - deny: tls://files.pythonhosted.org\n");
  ASSERT_TRUE(outcome.policy) << all_text(outcome);
  EXPECT_EQ(decide_connection(*outcome.policy, {Target(name("pypi.org")), Port::of(443)}).rule->id, "mine");
  EXPECT_EQ(ask_connection(*outcome.policy, "files.pythonhosted.org", 443), kDeniedByRule);
  EXPECT_FALSE(using_text("[pypi/1]", "  - allow: http://pypi.org:443/**\n").policy);
  ASSERT_EQ(outcome.document->uses.size(), 1u);
  EXPECT_EQ(outcome.document->uses[0].first_rule, 2u);
  EXPECT_EQ(outcome.document->uses[0].rules, 2u);
}

}  // namespace
}  // namespace sallyport::policy
