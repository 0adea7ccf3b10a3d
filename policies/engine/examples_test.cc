// policies/examples: each loads without a word, and means what its comments say.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "policies/engine/engine_test_support.h"
#include "policies/engine/language_keys.h"

namespace sallyport::policy {
namespace {

using namespace testing;
using enum ReasonCode;
namespace fs = std::filesystem;

LoadOutcome load_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return load(text.str(), path.filename().string());
}

std::shared_ptr<const CompiledPolicy> example(const std::string& name) {
  auto outcome = load_file(fs::path(SALLYPORT_SOURCE_DIR) / "policies/examples" / (name + ".yaml"));
  EXPECT_TRUE(outcome.policy) << all_text(outcome);
  return outcome.policy ? outcome.policy : deny_all();
}

TEST(Examples, AllLoadAndKeepTheirTests) {
  int examples = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(SALLYPORT_SOURCE_DIR) / "policies/examples")) {
    ++examples;
    auto outcome = load_file(entry.path());
    ASSERT_TRUE(outcome.policy) << all_text(outcome);
    EXPECT_EQ(outcome.policy->name(), entry.path().stem().string());
    for (const Diagnostic& d : outcome.diagnostics)
      EXPECT_TRUE(d.severity == Severity::kNote || outcome.policy->rules().empty()) << render(d);
    const auto& tests = outcome.document->policy_tests;
    EXPECT_GE(tests.size(), 2u) << entry.path();
    for (const PolicyTest& test : tests) {
      auto verdict = ask(*outcome.policy, test.question);
      EXPECT_EQ(verdict.allowed(), test.expected == Action::kAllow) << entry.path() << ": " << test.text << ": " << to_string(verdict.reason);
      if (test.rule) EXPECT_EQ(verdict.rule ? verdict.rule->id : "none", *test.rule) << entry.path() << ": " << test.text;
    }
  }
  EXPECT_GE(examples, 10);
}

TEST(Examples, AllowAFetchAndRefuseAPush) {  // policy-008
  auto p = example("git-fetch-only");
  EXPECT_EQ(ask_http(*p, "GET", "git.example", "/org/repo.git/info/refs?service=git-upload-pack"), kAllowed);
  EXPECT_EQ(ask_http(*p, "GET", "git.example", "/org/repo.git/info/refs?service=git-receive-pack"), kQueryNotAllowed);
  EXPECT_EQ(ask_http(*p, "POST", "git.example", "/org/repo.git/git-receive-pack"), kPathNotAllowed);
}

std::string readme() {
  std::ifstream in(fs::path(SALLYPORT_SOURCE_DIR) / "policies/README.md");
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

// The keys in the first column of the tables below each "### " heading.
std::map<std::string, std::set<std::string>> documented_keys() {
  std::map<std::string, std::set<std::string>> out;
  std::string heading, line;
  std::istringstream lines(readme());
  while (std::getline(lines, line)) {
    if (line.starts_with("## ")) heading.clear();
    if (line.starts_with("### ")) heading = line.substr(4);
    if (!heading.empty() && line.starts_with("| `")) out[heading].insert(line.substr(3, line.find('`', 3) - 3));
  }
  return out;
}

TEST(Readme, HasEveryKeyOfTheLoaderAndNoOther) {
  std::map<std::string, std::set<std::string>> read;
  for (const KeyTable& table : language_keys()) {
    auto& keys = read[std::string(table.where)];
    keys.insert(table.read.begin(), table.read.end());
    keys.insert(table.not_yet.begin(), table.not_yet.end());
  }
  EXPECT_EQ(read, documented_keys());
}

TEST(Readme, HasAPolicyThatLoadsAndKeepsItsTests) {
  std::string text = readme();
  auto begin = text.find("```yaml\n") + 8;
  auto outcome = load(text.substr(begin, text.find("```", begin) - begin), "README.md");
  ASSERT_TRUE(outcome.policy) << all_text(outcome);
  for (const Diagnostic& d : outcome.diagnostics) EXPECT_EQ(d.severity, Severity::kNote) << render(d);
  for (const PolicyTest& test : outcome.document->policy_tests)
    EXPECT_EQ(ask(*outcome.policy, test.question).allowed(), test.expected == Action::kAllow) << test.text;
}

TEST(Readme, SaysWhatIsRefusedForNow) {
  std::string text = readme();
  std::string refused = text.substr(text.find("## Understood"));
  for (auto scheme : {"https", "wss", "ws", "grpc"}) {
    EXPECT_NE(refused.find("`" + std::string(scheme) + "://`"), std::string::npos);
    auto said = all_text(load_rules({"allow: " + std::string(scheme) + "://a.test/x"}));
    EXPECT_NE(said.find("not supported yet"), std::string::npos) << said;
  }
  for (const KeyTable& table : language_keys())
    for (auto key : table.not_yet) {
      EXPECT_NE(refused.find("`" + std::string(key) + "`"), std::string::npos) << key;
      auto said = all_text(load_rules({"{allow: 'http://a.test/x', " + std::string(key) + ": x}"}));
      EXPECT_NE(said.find("not supported yet"), std::string::npos) << said;
    }
}

}  // namespace
}  // namespace sallyport::policy
