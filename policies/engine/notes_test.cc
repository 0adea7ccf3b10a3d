#include "policies/engine/notes.h"

#include <gtest/gtest.h>

#include "policies/engine/engine_test_support.h"

namespace sallyport::policy {
namespace {

using namespace testing;

std::string notes_of(const std::vector<std::string>& rules) {
  auto outcome = load_rules(rules);
  EXPECT_TRUE(outcome.policy) << all_text(outcome);
  std::string out;
  if (!outcome.policy) return out;
  for (const Diagnostic& d : notes(*outcome.policy, *outcome.document, "test.yaml")) {
    EXPECT_EQ(d.severity, Severity::kNote);
    out += render(d);
  }
  return out;
}

TEST(Notes, SayOfEachRuleWithoutACredentialThatDataMayLeave) {  // policy-014
  auto said = notes_of({"allow: PUT http://a.test/bucket/**", "allow: tls://b.test", "deny: tls://c.test"});
  EXPECT_NE(said.find("test.yaml:3:12: note: data may leave here: the rule has no credential"), std::string::npos) << said;
  EXPECT_NE(said.find("test.yaml:4:12: note: data may leave here"), std::string::npos) << said;
  EXPECT_EQ(said.find("test.yaml:5"), std::string::npos) << said;
}

TEST(Notes, SayWhatATunnelDoesNotShow) {
  EXPECT_NE(notes_of({"allow: tls://b.test"}).find("shows name, SNI and bytes, not what it carries, and behind a front that many sites share"), std::string::npos);
  EXPECT_EQ(notes_of({"allow: tcp://b.test:1"}).find("SNI"), std::string::npos);
}

TEST(Notes, SayThatGetMayWrite) {  // policy-007
  EXPECT_NE(notes_of({"allow: GET http://a.test/x"}).find("a server may write by GET, and any query is allowed"), std::string::npos);
  EXPECT_NE(notes_of({"{allow: 'GET,HEAD http://a.test/x', query: none}"}).find("a server may write by GET\n"), std::string::npos);
  EXPECT_EQ(notes_of({"allow: POST http://a.test/x"}).find("write by GET"), std::string::npos);
}

TEST(Notes, AreFew) {
  std::vector<std::string> many;
  for (int i = 0; i < 200; ++i) many.push_back("allow: tls://h" + std::to_string(i) + ".test");
  auto said = notes_of(many);
  EXPECT_NE(said.find("and 151 more rules by which data may leave"), std::string::npos) << said;
}

TEST(RelayCheck, WarnsOfPathsThatFetchForOthers) {  // policy-015
  auto warned = [](const std::string& rule) {
    auto outcome = load_rules({rule});
    EXPECT_TRUE(outcome.policy) << all_text(outcome);
    return all_text(outcome).find("warning: paths like this often fetch other addresses") != std::string::npos;
  };
  EXPECT_TRUE(warned("allow: GET http://a.test/proxy"));
  EXPECT_TRUE(warned("allow: GET http://a.test/api/Redirect/**"));
  EXPECT_TRUE(warned("allow: GET http://a.test/fetch.php"));
  EXPECT_FALSE(warned("{allow: 'GET http://a.test/proxy', query: none}"));
  EXPECT_FALSE(warned("{allow: 'GET http://a.test/proxy', query: {id: {length: 9}}}"));
  EXPECT_FALSE(warned("allow: GET http://a.test/proxies"));
  EXPECT_FALSE(warned("deny: GET http://a.test/proxy"));
}

}  // namespace
}  // namespace sallyport::policy
