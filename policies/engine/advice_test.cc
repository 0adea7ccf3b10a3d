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

std::string within_bounds(std::string_view path_text, std::string_view query, RequestBounds bounds = {true, {}}) {
  auto path = CanonicalPath::parse(path_text).value();
  return rule_for(HttpRequest{Target::parse("a.test").value(), Port::of(80), "GET", path, query}, bounds)
      .value_or("none");
}

TEST(Advice, HoldsTheQueryAndTheBodyWhereOthersDo) {
  EXPECT_EQ(within_bounds("/b", "k=2"), "- {allow: GET http://a.test/b, query: {k: '2'}}");
  EXPECT_EQ(within_bounds("/b", ""), "- {allow: GET http://a.test/b, query: none}");
  EXPECT_EQ(within_bounds("/b", "k=2", {true, {"application/json"}}),
            "- {allow: GET http://a.test/b, query: {k: '2'}, content_type: application/json}");
  EXPECT_EQ(within_bounds("/b", "k=2", {false, {"a/b", "c/d"}}),
            "- {allow: GET http://a.test/b, content_type: [a/b, c/d]}");
  EXPECT_EQ(within_bounds("/x,y", "a%5B%5D=it%27s&q=x+y&e"),
            "- {allow: 'GET http://a.test/x,y', query: {'a[]': 'it''s', q: {one_of: ['x+y', 'x y']}, e: ''}}");
  EXPECT_EQ(within_bounds("/b", "k=caf%C3%A9%22"),
            "- {allow: GET http://a.test/b, query: {k: \"caf\\U000000E9\\U00000022\"}}");
  // What no rule can name: a key twice, what is decoded twice, control bytes, no UTF-8, '+' in a key.
  for (std::string_view query : {"k=1&k=2", "k=%2541", "k=%0a", "k=%ff", "a+b=1", "a;b", "k=1&", "&", "%00=1"})
    EXPECT_EQ(within_bounds("/b", query), "none") << query;
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
