// Where a request head ends: bounds, pipelining, and bytes that arrive in pieces.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <random>
#include <string>

#include "core/http/request_head.h"
#include "core/http/test_messages.h"

namespace sallyport::http {
namespace {

using namespace std::string_literals;

// connect-007: what follows the head is not part of it.
TEST(RequestCuts, StopsBehindConnect) {
  std::string head = connect_to("denied.test:443");
  auto parsed = parse_request(head + get_with(""));
  ASSERT_TRUE(parsed.done());
  EXPECT_EQ(parsed.result.consumed, head.size());
}

// input-022
TEST(RequestCuts, BoundsTargetFieldsAndHead) {
  Limits limits;
  auto with_target = [&](std::size_t n) {
    return parse_request("GET /" + std::string(n - 1, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", limits);
  };
  EXPECT_TRUE(with_target(limits.max_target_bytes).done());
  EXPECT_TRUE(with_target(limits.max_target_bytes + 1).refused(414));
  EXPECT_TRUE(with_target(70'000).refused(414));
  EXPECT_TRUE(parse_request("GET /" + std::string(70'000, 'a')).refused(414));

  auto with_fields = [&](std::size_t n) {
    std::string lines;
    for (std::size_t i = 1; i < n; ++i) lines += "X: y\r\n";
    return parse_request(get_with(lines), limits);
  };
  EXPECT_TRUE(with_fields(limits.max_fields).done());
  EXPECT_TRUE(with_fields(limits.max_fields + 1).refused(431));
  EXPECT_TRUE(with_fields(500).refused(431));

  limits.max_head_bytes = 1000;
  std::string text = get_with("X: " + std::string(1000, 'y') + "\r\n");
  std::string exact = get_with("X: " + std::string(1000 - (text.size() - 1000), 'y') + "\r\n");
  ASSERT_EQ(exact.size(), 1000u);
  EXPECT_TRUE(parse_request(exact, limits).done());
  EXPECT_TRUE(
      parse_request(get_with("X: y" + std::string(1000 - (text.size() - 1000), 'y') + "\r\n"), limits).refused(431));
  EXPECT_TRUE(parse_request(text.substr(0, 1000), limits).refused(431));
  EXPECT_EQ(parse_request(text.substr(0, 999), limits).result.state, ParseState::kIncomplete);

  EXPECT_TRUE(parse_request(std::string(33, 'M') + " / HTTP/1.1\r\nHost: a\r\n\r\n").refused(501));
  EXPECT_TRUE(parse_request(std::string(32, 'M') + " / HTTP/1.1\r\nHost: a\r\n\r\n").done());
  EXPECT_TRUE(parse_request(get_with(std::string(257, 'n') + ": v\r\n")).refused(431));
  EXPECT_TRUE(parse_request(get_with(std::string(256, 'n') + ": v\r\n")).done());
}

TEST(RequestCuts, NeverKeepsMoreFieldsThanItHasRoomFor) {
  Limits limits;
  limits.max_fields = 100'000;
  std::string lines;
  for (std::size_t i = 1; i < Fields::kCapacity; ++i) lines += "X: y\r\n";
  EXPECT_TRUE(parse_request(get_with(lines), limits).done());
  EXPECT_TRUE(parse_request(get_with(lines + "X: y\r\n"), limits).refused(431));
}

// http1-031: one head at a time, in order, with one RequestHead.
TEST(RequestCuts, ReadsPipelinedRequestsOneByOne) {
  std::string text =
      "GET /ok HTTP/1.1\r\nHost: a.test\r\n\r\nDELETE /x HTTP/1.1\r\nHost: a.test\r\n\r\nGET /ok2 HTTP/1.1\r\nHost: "
      "b.test\r\nX: 1\r\n\r\n";
  std::string_view rest = text;
  RequestHead head;
  std::string seen;
  while (!rest.empty()) {
    ParseResult result = parse_request_head(rest, {}, head);
    ASSERT_EQ(result.state, ParseState::kDone);
    seen += std::string(head.method) + " " + std::string(head.path) + " " + head.authority->text() + " " +
            std::to_string(head.fields.size()) + "\n";
    rest.remove_prefix(result.consumed);
  }
  EXPECT_EQ(seen, "GET /ok a.test 1\nDELETE /x a.test 1\nGET /ok2 b.test 2\n");
}

TEST(RequestCuts, ParsesAnewWhenTheBufferMoved) {
  std::string text = "GET /moved?x HTTP/1.1\r\nHost: allowed.test\r\nX-Long-Name: value\r\n\r\n";
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    RequestHead head;
    auto first = std::make_unique<std::string>(text.substr(0, cut));
    ASSERT_EQ(parse_request_head(*first, {}, head).state, ParseState::kIncomplete);
    std::string second = text;
    first.reset();
    ASSERT_EQ(parse_request_head(second, {}, head).state, ParseState::kDone) << cut;
    EXPECT_EQ(head.path, "/moved");
    EXPECT_EQ(head.fields.find("x-long-name"), "value");
    EXPECT_EQ(head.fields.size(), 2u);
  }
}

TEST(RequestCuts, DoesNotRescanForASlowClient) {
  // Quadratic work on 64 KiB byte by byte would be 2^31 steps; this takes milliseconds.
  std::string text = get_with("X: " + std::string(60'000, 'y') + "\r\n");
  RequestHead head;
  auto start = std::chrono::steady_clock::now();
  ParseResult result;
  for (std::size_t n = 1; n <= text.size(); ++n) result = parse_request_head({text.data(), n}, {}, head);
  EXPECT_EQ(result.state, ParseState::kDone);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

// What was decided does not depend on how the bytes were cut.
TEST(RequestCuts, GivesTheSameForRandomCuts) {
  std::mt19937 random(7);
  const std::string texts[] = {post_with("Content-Length: 5\r\nConnection: close, X-A\r\nX-A: b\r\n"),
                               connect_to("[2001:db8::1]:443"), get_with("X: a\nY: b\r\n"), get_with("Expect: x\r\n")};
  for (const std::string& text : texts) {
    RequestHead whole;
    ParseResult expected = parse_request_head(text, {}, whole);
    for (int round = 0; round < 200; ++round) {
      RequestHead head;
      ParseResult result;
      std::size_t n = 0;
      while (result.state == ParseState::kIncomplete && n < text.size()) {
        n = std::min(text.size(), n + random() % 40);
        result = parse_request_head({text.data(), n}, {}, head);
      }
      expect_same(expected, result, text);
      if (expected.state != ParseState::kDone) continue;
      EXPECT_EQ(head.fields.size(), whole.fields.size());
      EXPECT_EQ(head.authority, whole.authority);
      EXPECT_EQ(head.body, whole.body);
    }
  }
}

}  // namespace
}  // namespace sallyport::http
