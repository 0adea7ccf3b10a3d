// The request line: method, target in its four forms, version.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "core/http/request_head.h"
#include "core/http/test_messages.h"

namespace sallyport::http {
namespace {

using namespace std::string_literals;

TEST(RequestLine, ReadsOriginForm) {
  auto parsed = parse_request("GET /a/b?c=d HTTP/1.1\r\nHost: Allowed.test\r\nAccept:  */* \t\r\n\r\nrest");
  ASSERT_TRUE(parsed.done());
  EXPECT_EQ(parsed.result.consumed, parsed.text->size() - 4);
  EXPECT_EQ(parsed->method, "GET");
  EXPECT_EQ(parsed->form, TargetForm::kOrigin);
  EXPECT_EQ(parsed->path, "/a/b");
  EXPECT_EQ(parsed->query, "c=d");
  EXPECT_TRUE(parsed->has_query);
  EXPECT_EQ(parsed->authority->text(), "allowed.test");
  EXPECT_EQ(parsed->fields.find("accept"), "*/*");
  EXPECT_EQ(parsed->body, Framing::none());
  EXPECT_TRUE(parsed->keep_alive);
  EXPECT_EQ(parsed->minor, 1);
}

TEST(RequestLine, ReadsAbsoluteForm) {
  auto parsed = parse_request("GET HTTP://allowed.test:8080/x?y HTTP/1.1\r\nHost: allowed.test:8080\r\n\r\n");
  ASSERT_TRUE(parsed.done());
  EXPECT_EQ(parsed->form, TargetForm::kAbsolute);
  EXPECT_EQ(parsed->path, "/x");
  EXPECT_EQ(parsed->query, "y");
  EXPECT_EQ(parsed->authority->text(), "allowed.test:8080");

  auto bare = parse_request("GET http://allowed.test HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
  ASSERT_TRUE(bare.done());
  EXPECT_EQ(bare->path, "/");
  EXPECT_FALSE(bare->has_query);

  auto query = parse_request("GET http://allowed.test?q HTTP/1.1\r\nHost: allowed.test:80\r\n\r\n");
  ASSERT_TRUE(query.done());
  EXPECT_EQ(query->path, "/");
  EXPECT_EQ(query->query, "q");
}

TEST(RequestLine, ReadsConnect) {
  auto parsed = parse_request("CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n");
  ASSERT_TRUE(parsed.done());
  EXPECT_TRUE(parsed->is_connect());
  EXPECT_EQ(parsed->authority->text(), "allowed.test:443");
  EXPECT_EQ(parsed->path, "");
  // aiohttp and others leave the port out of Host; python's http.client sends HTTP/1.0 without Host.
  EXPECT_TRUE(parse_request("CONNECT allowed.test:8443 HTTP/1.1\r\nHost: allowed.test\r\n\r\n").done());
  EXPECT_TRUE(parse_request("CONNECT allowed.test:443 HTTP/1.0\r\n\r\n").done());
  EXPECT_TRUE(parse_request("CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n").done());
}

// http1-035: OPTIONS * parses; whether it is served is the policy's to say.
TEST(RequestLine, ReadsAsterisk) {
  auto parsed = parse_request("OPTIONS * HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
  ASSERT_TRUE(parsed.done());
  EXPECT_EQ(parsed->form, TargetForm::kAsterisk);
  EXPECT_EQ(parsed->path, "*");
  auto absolute = parse_request("OPTIONS http://allowed.test HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
  ASSERT_TRUE(absolute.done());
  EXPECT_EQ(absolute->form, TargetForm::kAsterisk);
  EXPECT_EQ(absolute->authority->text(), "allowed.test");
  EXPECT_TRUE(parse_request("OPTIONS * HTTP/1.1\r\n\r\n").refused(400));
  EXPECT_TRUE(parse_request("OPTIONS http://allowed.test HTTP/1.1\r\nHost: denied.test\r\n\r\n").refused(421));
  EXPECT_TRUE(parse_request("GET * HTTP/1.1\r\nHost: allowed.test\r\n\r\n").refused(400));
}

// http1-035
TEST(RequestLine, DeniesTrace) {
  EXPECT_TRUE(
      parse_request("TRACE http://echo.test/ HTTP/1.1\r\nHost: echo.test\r\nMax-Forwards: 0\r\n\r\n").refused(501));
  EXPECT_TRUE(parse_request("TRACK / HTTP/1.1\r\nHost: echo.test\r\n\r\n").refused(501));
  EXPECT_TRUE(
      parse_request("trace / HTTP/1.1\r\nHost: echo.test\r\n\r\n").done());  // another method: policy lists methods
}

// http1-022
TEST(RequestLine, DeniesOddRequestLines) {
  auto status = [](std::string line) {
    auto parsed = parse_request(std::move(line) + "\r\nHost: a\r\n\r\n");
    return parsed.done() ? 0 : static_cast<int>(parsed.result.status);
  };
  EXPECT_EQ(status("GET / HTTP/1.1"), 0);
  EXPECT_EQ(status("GET / HTTP/1.0"), 0);
  for (const char* line : {"GET / HTTP/1.17",
                           "GET / HTTP/4294967297.1",
                           "GET /\nHTTP/1.1",
                           "GET /",
                           "G\"E / HTTP/1.1",
                           "GET  / HTTP/1.1",
                           "GET /  HTTP/1.1",
                           "GET / HTTP/1.1 ",
                           " GET / HTTP/1.1",
                           "GET\t/ HTTP/1.1",
                           "GET / http/1.1",
                           "GET / HTTP/1",
                           "GET / HTTP/1,1",
                           "GET / HTTP/+1.1",
                           "GET / HTTP/1.1\t",
                           "GET",
                           "GET ",
                           "GET / HTTP/ 1.1",
                           "",
                           "GET / x HTTP/1.1",
                           "GET /\x7f HTTP/1.1",
                           "GET /\tx HTTP/1.1"})
    EXPECT_EQ(status(line), 400) << line;
  for (const char* line : {"GET / HTTP/1.2", "GET / HTTP/2.0", "GET / HTTP/0.9", "PRI * HTTP/2.0", "GET / HTTP/3.1"})
    EXPECT_EQ(status(line), 505) << line;
}

TEST(RequestLine, DeniesOtherProtocolsAtTheirFirstByte) {
  EXPECT_TRUE(parse_request("\x16\x03\x01").refused(400));
  EXPECT_TRUE(parse_request("\r\n").refused(400));
  EXPECT_TRUE(parse_request("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n").refused(400));
  EXPECT_TRUE(parse_request("SSH-2.0-x\r\n").refused(400));  // connect-006
}

// input-001, -002, -004, -005, -007, -008, -011, -014, -016, -017, -018: the authority's own test has them byte by
// byte; here the request.
TEST(RequestLine, DeniesConnectToOddAuthorities) {
  EXPECT_TRUE(parse_request(connect_to("allowed.test:443")).done());
  for (auto target :
       {"allowed.test:443@denied.test:443"s, "denied.test\0.allowed.test:443"s, "[denied.test]:443"s,
        "denied\xe3\x80\x82test:443"s, "2130706433:443"s, "0177.0.0.1:443"s, "127.1:443"s, "[::1%25.allowed.test]:80"s,
        "allowed.test:65979"s, "allowed.test:0443"s, "allowed.test:"s, "allowed.test"s, "allowed%2etest:443"s, "/"s,
        "http://allowed.test/"s, "allowed.test:443/"s, "*"s, "allowed.test: 443"s})
    EXPECT_TRUE(parse_request(connect_to(target)).refused(400)) << target;
}

// input-001, -002, -003, -018, -023
TEST(RequestLine, DeniesOddAbsoluteTargets) {
  auto status = [](std::string target) {
    auto parsed = parse_request("GET " + target + " HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
    return parsed.done() ? 0 : static_cast<int>(parsed.result.status);
  };
  EXPECT_EQ(status("http://allowed.test/"), 0);
  for (const char* target :
       {"http://allowed.test@denied.test/", "http://allowed.test\\@denied.test/", "http://denied.test#.allowed.test/",
        "http://denied%2etest/", "http://denied%E3%80%82test/", "http:///", "http://", "http:/allowed.test/",
        "http:allowed.test/", "allowed.test", "allowed.test:80", "://allowed.test/", "1http://allowed.test/",
        "ht_tp://allowed.test/", "~x", "?x", "%68ttp://allowed.test/", "http://:80/", "http://allowed.test:/"})
    EXPECT_EQ(status(target), 400) << target;
  for (const char* target : {"https://allowed.test/", "ftp://allowed.test/x", "file:///etc/passwd",
                             "ws://allowed.test/", "unix:///run/docker.sock"})
    EXPECT_EQ(status(target), 501) << target;
}

// input-003, path-006, path-010
TEST(RequestLine, DeniesEveryByteThatTargetsMayNotHold) {
  for (int c = 0; c < 256; ++c) {
    std::string target = "/public"s + static_cast<char>(c) + "x";
    auto parsed = parse_request("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n");
    bool allowed = c > 0x20 && c < 0x7f && std::strchr("#\"<>\\%", c) == nullptr;
    EXPECT_EQ(parsed.done(), allowed) << c;
    EXPECT_EQ(parse_request("GET /?" + target + " HTTP/1.1\r\nHost: a\r\n\r\n").done(), allowed) << c;
  }
}

// path-010
TEST(RequestLine, DeniesBrokenPercentEncoding) {
  auto accepts = [](std::string target) {
    return parse_request("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n").done();
  };
  for (const char* target : {"/%zz", "/%", "/%4", "/%4g", "/%%41", "/?%", "/?a=%2", "/%u0041"})
    EXPECT_FALSE(accepts(target)) << target;
  for (const char* target : {"/%41", "/%2f%2F", "/a%20b?c=%25"}) EXPECT_TRUE(accepts(target)) << target;
}

}  // namespace
}  // namespace sallyport::http
