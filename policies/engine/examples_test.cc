// policies/examples: each loads without a word, and means what its comments say.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "policies/engine/engine_test_support.h"

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

TEST(Examples, AllLoad) {
  for (const auto& entry : fs::directory_iterator(fs::path(SALLYPORT_SOURCE_DIR) / "policies/examples")) {
    auto outcome = load_file(entry.path());
    ASSERT_TRUE(outcome.policy) << all_text(outcome);
    EXPECT_EQ(outcome.policy->name(), entry.path().stem().string());
    bool only_empty = outcome.policy->rules().empty() && outcome.diagnostics.size() == 1;
    EXPECT_TRUE(only_empty || outcome.diagnostics.empty()) << all_text(outcome);
  }
}

// The README's policy, and each word that it says is refused for now.
TEST(Readme, SaysWhatTheLoaderDoes) {
  std::ifstream in(fs::path(SALLYPORT_SOURCE_DIR) / "policies/README.md");
  std::stringstream all;
  all << in.rdbuf();
  std::string text = all.str();
  auto begin = text.find("```yaml\n") + 8;
  auto outcome = load(text.substr(begin, text.find("```", begin) - begin), "README.md");
  EXPECT_TRUE(outcome.policy && outcome.diagnostics.empty()) << all_text(outcome);
  std::string refused = text.substr(text.find("## Understood"));
  for (auto scheme : {"https", "wss", "ws", "grpc"}) {
    EXPECT_NE(refused.find("`" + std::string(scheme) + "://`"), std::string::npos);
    auto said = all_text(load_rules({"allow: " + std::string(scheme) + "://a.test/x"}));
    EXPECT_NE(said.find("not supported yet"), std::string::npos) << said;
  }
  for (std::string key : {"credential", "approval", "headers"}) {
    EXPECT_NE(refused.find("`" + key + "`"), std::string::npos) << key;
    auto said = all_text(load_rules({"{allow: 'http://a.test/x', " + key + ": x}"}));
    EXPECT_NE(said.find("not supported yet"), std::string::npos) << said;
  }
}

TEST(Examples, OneApi) {
  auto p = example("one-api");
  EXPECT_EQ(ask_http(*p, "GET", "api.shop.example", "/v2/prices/7?currency=EUR"), kAllowed);
  EXPECT_EQ(ask_http(*p, "POST", "api.shop.example", "/v2/prices/7"), kMethodNotAllowed);
  EXPECT_EQ(ask_http(*p, "GET", "api.shop.example", "/v1/"), kPathNotAllowed);
  EXPECT_EQ(ask_http(*p, "PUT", "files.example", "/drafts/t-1/report.json"), kAllowed);
  EXPECT_EQ(ask_http(*p, "PUT", "files.example", "/drafts/t-1/other.json"), kPathNotAllowed);
  EXPECT_EQ(ask_connection(*p, "api.shop.example", 443), kPortNotAllowed);
}

TEST(Examples, PipInstall) {
  auto p = example("pip-install");
  EXPECT_EQ(ask_connection(*p, "pypi.org", 443), kAllowed);
  EXPECT_EQ(ask_connection(*p, "pypi.org", 80), kPortNotAllowed);
  EXPECT_EQ(ask_name(*p, "test.pypi.org"), kNoRule);
}

TEST(Examples, Database) {
  auto p = example("database");
  EXPECT_EQ(ask_connection(*p, "db.internal.example", 5432), kAllowed);
  EXPECT_EQ(ask_connection(*p, "192.0.2.10", 8125), kAllowed);
  EXPECT_EQ(ask_connection(*p, "192.0.2.11", 8125), kLiteralNotAllowed);
  EXPECT_EQ(ask_connection(*p, "a.b.apps.example.com", 443), kAllowed);
  EXPECT_EQ(ask_connection(*p, "apps.example.com", 443), kNoRule);
  EXPECT_EQ(ask_connection(*p, "vault.apps.example.com", 443), kDeniedByRule);
}

TEST(Examples, WebButNotAdmin) {
  auto p = example("web-but-not-admin");
  EXPECT_EQ(ask_http(*p, "POST", "www.shop.example", "/cart"), kAllowed);
  EXPECT_EQ(ask_http(*p, "GET", "www.shop.example", "/%61dmin/"), kDeniedByRule);
  EXPECT_EQ(ask_http(*p, "DELETE", "www.shop.example", "/cart"), kDeniedByRule);
  EXPECT_EQ(ask_http(*p, "GET", "www.shop.example", "/cart;x"), kPathAmbiguous);
}

}  // namespace
}  // namespace sallyport::policy
