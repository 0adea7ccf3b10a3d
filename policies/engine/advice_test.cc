#include "policies/engine/advice.h"

#include <gtest/gtest.h>

#include "policies/engine/engine_test_support.h"

namespace sallyport::policy {
namespace {

using namespace testing;

std::string for_connection(std::string_view host, std::uint16_t port) {
  return rule_for(ConnectionRequest{Target::parse(host).value(), Port::of(port)}).value_or("none");
}

std::string for_http(std::string_view method, std::string_view host, std::string_view path_text) {
  auto path = CanonicalPath::parse(path_text).value();
  return rule_for(HttpRequest{Target::parse(host).value(), Port::of(80), method, path, ""}).value_or("none");
}

TEST(Advice, IsTheNarrowestRule) {
  EXPECT_EQ(for_connection("api.test", 443), "- allow: tls://api.test");
  EXPECT_EQ(for_connection("api.test", 8443), "- allow: tls://api.test:8443");
  EXPECT_EQ(for_connection("api.test", 80), "- allow: http://api.test/**");
  EXPECT_EQ(for_connection("[2001:db8::1]", 22), "- allow: tcp://[2001:db8::1]:22");
  EXPECT_EQ(for_http("POST", "api.test", "/v1/x"), "- allow: POST http://api.test/v1/x");
  EXPECT_EQ(for_http("GET", "api.test", "/a;b"), "- allow: GET http://api.test/**");
}

TEST(Advice, IsNothingWhereNoRuleHelps) {
  EXPECT_EQ(for_connection("169.254.169.254", 80), "none");
  EXPECT_EQ(for_connection("metadata.google.internal", 80), "none");
  EXPECT_EQ(for_connection("localhost", 80), "none");
  EXPECT_EQ(for_connection("[::ffff:192.0.2.1]", 80), "none");
  EXPECT_EQ(for_http("CONNECT", "api.test", "/"), "none");
  EXPECT_EQ(for_http("GET", "api.test", "/a*b"), "none");
}

TEST(Advice, AllowsWhatItWasAskedFor) {
  for (auto path : {"/", "/a'b", "/x/y,z", "/%20&!", "/a%5Bb%5D", "/caf%C3%A9", "/a:%20b", "/a:", "/a'", "/-%22"}) {
    auto line = for_http("GET", "api.test", path);
    auto outcome = load("policy: p/1\nrules:\n" + line + "\n", "p");
    ASSERT_TRUE(outcome.policy) << line << all_text(outcome);
    EXPECT_EQ(ask_http(*outcome.policy, "GET", "api.test", path), ReasonCode::kAllowed) << line;
    EXPECT_NE(ask_http(*outcome.policy, "GET", "api.test", "/other"), ReasonCode::kAllowed);
    EXPECT_NE(ask_http(*outcome.policy, "POST", "api.test", path), ReasonCode::kAllowed);
  }
}

}  // namespace
}  // namespace sallyport::policy
