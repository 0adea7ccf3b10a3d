// Feeding messages to the parsers in tests: whole, and byte by byte, asserting that both agree.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "core/http/request_head.h"
#include "core/http/response_head.h"

namespace sallyport::http {

// A parse and the buffer its views point into. On the heap, so that the views survive moves.
template <class Head>
struct Parsed {
  std::unique_ptr<std::string> text;
  std::unique_ptr<Head> head = std::make_unique<Head>();
  ParseResult result;

  bool done() const { return result.state == ParseState::kDone; }
  bool refused(int status) const { return result.state == ParseState::kRefused && result.status == status; }
  Head* operator->() const { return head.get(); }
};

inline void expect_same(const ParseResult& a, const ParseResult& b, std::string_view text) {
  EXPECT_EQ(a.state, b.state) << text;
  EXPECT_EQ(a.status, b.status) << text;
  EXPECT_EQ(a.consumed, b.consumed) << text;
  EXPECT_STREQ(a.reason, b.reason) << text;
}

// `parse(view, head)` on each prefix of `text` in turn, until it is not incomplete.
template <class Head, class Parse>
ParseResult parse_bytewise(std::string_view text, Parse parse) {
  Head head;
  ParseResult result = ParseResult::incomplete();
  for (std::size_t n = 0; n <= text.size() && result.state == ParseState::kIncomplete; ++n)
    result = parse(text.substr(0, n), head);
  return result;
}

inline Parsed<RequestHead> parse_request(std::string text, const Limits& limits = {}) {
  Parsed<RequestHead> parsed;
  parsed.text = std::make_unique<std::string>(std::move(text));
  parsed.result = parse_request_head(*parsed.text, limits, *parsed.head);
  auto bytewise = parse_bytewise<RequestHead>(
      *parsed.text, [&](auto view, auto& head) { return parse_request_head(view, limits, head); });
  expect_same(parsed.result, bytewise, *parsed.text);
  return parsed;
}

inline Parsed<ResponseHead> parse_response(std::string text, const ResponseContext& context = {"GET"},
                                           const Limits& limits = {}) {
  Parsed<ResponseHead> parsed;
  parsed.text = std::make_unique<std::string>(std::move(text));
  parsed.result = parse_response_head(*parsed.text, limits, context, *parsed.head);
  auto bytewise = parse_bytewise<ResponseHead>(
      *parsed.text, [&](auto view, auto& head) { return parse_response_head(view, limits, context, head); });
  expect_same(parsed.result, bytewise, *parsed.text);
  return parsed;
}

// A GET of http://allowed.test/ with these further header lines (each ending in CR LF).
inline std::string get_with(std::string_view lines) {
  return "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n" + std::string(lines) + "\r\n";
}
inline std::string post_with(std::string_view lines) {
  return "POST http://allowed.test/a HTTP/1.1\r\nHost: allowed.test\r\n" + std::string(lines) + "\r\n";
}
inline std::string connect_to(std::string_view target) {
  return "CONNECT " + std::string(target) + " HTTP/1.1\r\nHost: " + std::string(target) + "\r\n\r\n";
}

}  // namespace sallyport::http
