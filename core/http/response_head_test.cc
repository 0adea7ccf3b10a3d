#include "core/http/response_head.h"

#include <gtest/gtest.h>

#include <string>

#include "core/http/test_messages.h"

namespace sallyport::http {
namespace {

using namespace std::string_literals;

std::string answer(std::string_view status, std::string_view lines) {
  return "HTTP/1.1 " + std::string(status) + "\r\n" + std::string(lines) + "\r\n";
}

TEST(ResponseHead, ReadsAnOrdinaryOne) {
  auto parsed = parse_response("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nServer: nginx\r\n\r\nhello");
  ASSERT_TRUE(parsed.done());
  EXPECT_EQ(parsed->status, 200);
  EXPECT_EQ(parsed->reason, "OK");
  EXPECT_EQ(parsed->body, Framing::of_length(5));
  EXPECT_EQ(parsed->content_length, 5u);
  EXPECT_TRUE(parsed->keep_alive);
  EXPECT_EQ(parsed.result.consumed, parsed.text->size() - 5);
}

TEST(ResponseHead, ReadsEveryFraming) {
  EXPECT_EQ(parse_response(answer("200 OK", "Transfer-Encoding: chunked\r\n"))->body, Framing::chunked());
  auto until_close = parse_response(answer("200 OK", ""));
  EXPECT_EQ(until_close->body, Framing::until_close());
  EXPECT_FALSE(until_close->keep_alive);
  EXPECT_EQ(parse_response("HTTP/1.0 200 OK\r\n\r\n")->body, Framing::until_close());
  EXPECT_EQ(parse_response("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n")->body, Framing::of_length(2));
  EXPECT_FALSE(parse_response("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n")->keep_alive);
  EXPECT_TRUE(parse_response("HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n")->keep_alive);
}

TEST(ResponseHead, KnowsStatusesWithoutBody) {
  auto head = parse_response(answer("200 OK", "Content-Length: 5\r\n"), {"HEAD"});
  EXPECT_EQ(head->body, Framing::none());
  EXPECT_EQ(head->content_length, 5u);
  EXPECT_EQ(parse_response(answer("200 OK", "Transfer-Encoding: chunked\r\n"), {"HEAD"})->body, Framing::none());
  auto not_modified = parse_response(answer("304 Not Modified", "Content-Length: 5\r\n"));
  EXPECT_EQ(not_modified->body, Framing::none());
  EXPECT_EQ(not_modified->content_length, 5u);
  EXPECT_TRUE(not_modified->keep_alive);
  EXPECT_EQ(parse_response(answer("204 No Content", ""))->body, Framing::none());
  EXPECT_EQ(parse_response(answer("204 No Content", "Content-Length: 0\r\n"))->body, Framing::none());
  EXPECT_EQ(parse_response(answer("100 Continue", ""))->body, Framing::none());
  EXPECT_TRUE(parse_response(answer("103 Early Hints", "Link: </x>\r\n"))->is_interim());
}

// http1-030
TEST(ResponseHead, DeniesFramingFaults) {
  for (const char* lines :
       {"Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 5\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: +5\r\n", "Content-Length: 5, 5\r\n", "Content-Length:\r\n", "Content-Length : 5\r\n",
        "X: a\r\n b\r\n", " X: a\r\n", "X\r\n", ": a\r\n", "X: a\nY: b\r\n", "X: a\rb\r\n",
        "Connection: Content-Length\r\n"}) {
    for (const char* method : {"GET", "HEAD"})
      EXPECT_TRUE(parse_response(answer("200 OK", lines), {method}).refused(502)) << lines;
  }
  EXPECT_TRUE(parse_response(answer("204 No Content", "Content-Length: 5\r\n")).refused(502));
  EXPECT_TRUE(parse_response(answer("204 No Content", "Transfer-Encoding: chunked\r\n")).refused(502));
  EXPECT_TRUE(parse_response(answer("100 Continue", "Content-Length: 5\r\n")).refused(502));
  EXPECT_TRUE(parse_response("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").refused(502));
  EXPECT_TRUE(parse_response(answer("200 OK", "X: a\0b\r\n"s)).refused(502));
}

// http1-030: a second response glued behind the first is not part of it.
TEST(ResponseHead, StopsBehindItsHead) {
  std::string first = answer("200 OK", "Content-Length: 0\r\n");
  auto parsed = parse_response(first + first);
  ASSERT_TRUE(parsed.done());
  EXPECT_EQ(parsed.result.consumed, first.size());
}

TEST(ResponseHead, DeniesOddStatusLines) {
  for (const char* line :
       {"HTTP/1.1 99 X", "HTTP/1.1 600 X", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1  200 OK", "HTTP/1.1 +20 OK",
        "HTTP/2.0 200 OK", "HTTP/1.2 200 OK", "http/1.1 200 OK", "HTTP/1.1\t200 OK", "HTTP/1.1 200\tOK",
        "HTTP/1.1 200 O\x01K", "HTTP/1.1", "ICY 200 OK", "hello", "HTTP/1.1 2x0 OK"})
    EXPECT_TRUE(parse_response(line + "\r\nContent-Length: 0\r\n\r\n"s).refused(502)) << line;
  for (const char* line :
       {"HTTP/1.1 200 OK", "HTTP/1.1 200 ", "HTTP/1.1 200", "HTTP/1.0 599 caf\xc3\xa9", "HTTP/1.1 418 I'm a teapot"})
    EXPECT_TRUE(parse_response(line + "\r\nContent-Length: 0\r\n\r\n"s).done()) << line;
}

// http1-027, http1-028
TEST(ResponseHead, DeniesSwitchThatNobodyAskedFor) {
  std::string text = answer("101 Switching Protocols", "Upgrade: h2c\r\nConnection: Upgrade\r\n");
  EXPECT_TRUE(parse_response(text).refused(502));
  auto offered = parse_response(text, {"GET", true});
  EXPECT_TRUE(offered.done());
  EXPECT_FALSE(offered->keep_alive);
}

// http1-033
TEST(ResponseHead, DeniesProxyAuthenticationDemand) {
  EXPECT_TRUE(parse_response(answer("407 Proxy Authentication Required",
                                    "Proxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n"))
                  .refused(502));
  EXPECT_TRUE(parse_response(answer("401 Unauthorized", "WWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n"))
                  .done());
}

TEST(ResponseHead, BoundsItsSize) {
  Limits limits;
  limits.max_head_bytes = 500;
  EXPECT_TRUE(parse_response(answer("200 OK", "X: " + std::string(500, 'x') + "\r\n"), {"GET"}, limits).refused(502));
  EXPECT_TRUE(parse_response(answer("200 OK", "X: " + std::string(400, 'x') + "\r\n"), {"GET"}, limits).done());
  std::string many;
  for (std::size_t i = 0; i <= limits.max_fields; ++i) many += "X: y\r\n";
  EXPECT_TRUE(parse_response(answer("200 OK", many)).refused(502));
}

// Akamai and others list Transfer-Encoding, which is hop-by-hop indeed.
TEST(ResponseHead, AcceptsConnectionListingTransferEncoding) {
  EXPECT_EQ(
      parse_response(answer("200 OK", "Connection: Transfer-Encoding, keep-alive\r\nTransfer-Encoding: chunked\r\n"))
          ->body,
      Framing::chunked());
}

}  // namespace
}  // namespace sallyport::http
