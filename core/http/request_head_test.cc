#include "core/http/request_head.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <random>
#include <string>

#include "core/http/syntax.h"
#include "core/http/test_messages.h"

namespace sallyport::http {
namespace {

using namespace std::string_literals;

TEST(RequestHead, ReadsOriginForm) {
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

TEST(RequestHead, ReadsAbsoluteForm) {
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

TEST(RequestHead, ReadsConnect) {
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
TEST(RequestHead, ReadsAsterisk) {
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
TEST(RequestHead, DeniesTrace) {
  EXPECT_TRUE(parse_request("TRACE http://echo.test/ HTTP/1.1\r\nHost: echo.test\r\nMax-Forwards: 0\r\n\r\n").refused(501));
  EXPECT_TRUE(parse_request("TRACK / HTTP/1.1\r\nHost: echo.test\r\n\r\n").refused(501));
  EXPECT_TRUE(parse_request("trace / HTTP/1.1\r\nHost: echo.test\r\n\r\n").done());  // another method: policy lists methods
}

// http1-001
TEST(RequestHead, DeniesLengthTogetherWithChunked) {
  EXPECT_TRUE(parse_request(post_with("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\nG").refused(400));
  EXPECT_TRUE(parse_request(post_with("Transfer-Encoding: chunked\r\nContent-Length: 6\r\n")).refused(400));
  EXPECT_TRUE(parse_request(post_with("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n")).refused(400));
  EXPECT_EQ(parse_request(post_with("Content-Length: 6\r\n"))->body, Framing::of_length(6));
  EXPECT_EQ(parse_request(post_with("Transfer-Encoding: chunked\r\n"))->body, Framing::chunked());
}

// http1-002
TEST(RequestHead, DeniesTwoLengths) {
  EXPECT_TRUE(parse_request(post_with("Content-Length: 0\r\nContent-Length: 28\r\n")).refused(400));
  EXPECT_TRUE(parse_request(post_with("Content-Length: 28\r\nX: y\r\ncontent-length: 28\r\n")).refused(400));
  EXPECT_TRUE(parse_request(post_with("Content-Length: 28\r\n")).done());
}

// http1-003, http1-004
TEST(RequestHead, DeniesOddLengths) {
  for (const char* value : {"+5", "-5", "5_0", "0x10", "010", " 5 5", "5,5", "18446744073709551617", "9223372036854775808", "", "5;", "5.0", "1e3",
                            "00", "\xb2", "\"5\"", "chunked"}) {
    EXPECT_TRUE(parse_request(post_with("Content-Length: "s + value + "\r\n")).refused(400)) << value;
    EXPECT_TRUE(parse_request(post_with("Content-Length: "s + value + "\r\nContent-Length: 5\r\n")).refused(400)) << value;
  }
  for (const char* value : {"0", "5", "9223372036854775807", " 5", "5 ", "\t5\t"})
    EXPECT_TRUE(parse_request(post_with("Content-Length:"s + value + "\r\n")).done()) << value;
}

// http1-005
TEST(RequestHead, DeniesTransferEncodingOtherThanChunked) {
  for (const char* value : {"chunked,", ",chunked", "chunked, gzip", "gzip, chunked", "chunked;x=1", "\x0b" "chunked", "xchunked", "identity", "",
                            "chunked chunked", "\"chunked\"", "chunke", "gzip", "chunked\xa0", "chunked, chunked"}) {
    for (const char* more : {"", "Content-Length: 5\r\n"}) {
      auto parsed = parse_request(post_with("Transfer-Encoding: "s + value + "\r\n" + more));
      EXPECT_TRUE(parsed.refused(400) || parsed.refused(501)) << value;
    }
  }
  for (const char* value : {"chunked", " Chunked", "CHUNKED \t"})
    EXPECT_EQ(parse_request(post_with("Transfer-Encoding:"s + value + "\r\n"))->body, Framing::chunked()) << value;
}

// http1-006
TEST(RequestHead, DeniesTwoTransferEncodings) {
  EXPECT_TRUE(parse_request(post_with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")).refused(400));
  auto mixed = parse_request(post_with("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"));
  EXPECT_TRUE(mixed.refused(400) || mixed.refused(501));
  EXPECT_TRUE(parse_request(post_with("Transfer-Encoding: chunked\r\n")).done());
}

// http1-007
TEST(RequestHead, DeniesSpaceBeforeColon) {
  for (const char* line : {"Content-Length : 34", "Transfer-Encoding\t: chunked", "X : y", "X\t: y", "X Y: z"})
    EXPECT_TRUE(parse_request(post_with(line + "\r\n"s)).refused(400)) << line;
  EXPECT_TRUE(parse_request(post_with("X:y\r\n")).done());
}

// http1-008
TEST(RequestHead, DeniesFolding) {
  EXPECT_TRUE(parse_request("GET http://allowed.test/ HTTP/1.1\r\n\tHost: denied.test\r\nHost: allowed.test\r\n\r\n").refused(400));
  EXPECT_TRUE(parse_request("GET http://allowed.test/ HTTP/1.1\r\n Host: denied.test\r\nHost: allowed.test\r\n\r\n").refused(400));
  EXPECT_TRUE(parse_request(post_with("Transfer-\r\nEncoding: chunked\r\n")).refused(400));
  EXPECT_TRUE(parse_request(post_with("X: a\r\n b\r\n")).refused(400));
  EXPECT_TRUE(parse_request(post_with("X: a\r\n \r\n")).refused(400));
  EXPECT_TRUE(parse_request(post_with("X: a b\r\n")).done());
}

// http1-009
TEST(RequestHead, DeniesBareLineFeed) {
  EXPECT_TRUE(parse_request("GET http://allowed.test/ HTTP/1.1\nHost: allowed.test\n\n").refused(400));
  EXPECT_TRUE(parse_request("GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\n\r\n").refused(400));
  EXPECT_TRUE(parse_request("GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\n").refused(400));
  EXPECT_TRUE(parse_request(get_with("X: a\nY: b\r\n")).refused(400));
}

// http1-010, http1-011, http1-013: every byte in a name and in a value.
TEST(RequestHead, DeniesEveryByteOutsideTheClassInNamesAndValues) {
  for (int c = 0; c < 256; ++c) {
    char byte = static_cast<char>(c);
    bool token = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c != 0 && std::strchr("!#$%&'*+-.^_`|~", c));
    bool value = c == '\t' || (c >= 0x20 && c != 0x7f);
    auto in_name = parse_request(get_with("X"s + byte + "Y: 1\r\n"));
    if (c == ':') {
      EXPECT_EQ(in_name->fields.find("X"), "Y: 1");
    } else {
      EXPECT_EQ(in_name.done(), token) << c;
    }
    EXPECT_EQ(parse_request(get_with("X: a"s + byte + "b\r\n")).done(), value) << c;
    EXPECT_EQ(parse_request(get_with("X: "s + byte + "\r\n")).done(), value) << c;
    EXPECT_EQ(parse_request(get_with("X: a"s + byte + "Authorization: x\r\n")).done(), value) << c;
  }
}

// http1-011, http1-013
TEST(RequestHead, DeniesNulAndForeignBytesByExample) {
  EXPECT_TRUE(parse_request("GET / HTTP/1.1\r\nHost: allowed.test\0.denied.test\r\n\r\n"s).refused(400));
  for (auto line : {"Content-Length\x85: 10"s, "Foo(bar): 1"s, "X\0Y: 1"s, "X: a\rAuthorization: x"s, "X: a\0b"s})
    EXPECT_TRUE(parse_request(get_with(line + "\r\n")).refused(400)) << line;
}

// http1-012
TEST(RequestHead, DeniesLinesWithoutNameOrColon) {
  for (const char* line : {"Foo bar", "Foo", ": x", ":"})
    EXPECT_TRUE(parse_request(get_with(line + "\r\nAuthorization: y\r\n"s)).refused(400)) << line;
  EXPECT_TRUE(parse_request(get_with("Foo: bar\r\nAuthorization: y\r\n")).done());
}

// http1-019, connect-009, transparent-004
TEST(RequestHead, DeniesHostThatContradictsTheTarget) {
  EXPECT_TRUE(parse_request("GET http://allowed.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n").refused(421));
  EXPECT_TRUE(parse_request("GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test:8080\r\n\r\n").refused(421));
  EXPECT_TRUE(parse_request("GET http://allowed.test/ HTTP/1.0\r\nHost: denied.test\r\n\r\n").refused(421));
  EXPECT_TRUE(parse_request("CONNECT allowed.test:443 HTTP/1.1\r\nHost: denied.test:443\r\n\r\n").refused(400));
  EXPECT_TRUE(parse_request("CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:80\r\n\r\n").refused(400));
  for (const char* host : {"allowed.test", "ALLOWED.test", "allowed.test.", "allowed.test:80"})
    EXPECT_TRUE(parse_request("GET http://allowed.test/ HTTP/1.1\r\nHost: "s + host + "\r\n\r\n").done()) << host;
}

// http1-021
TEST(RequestHead, DeniesMissingDoubledAndEmptyHost) {
  for (const char* start : {"GET / HTTP/1.1\r\n", "GET http://a/ HTTP/1.1\r\n"}) {
    EXPECT_TRUE(parse_request(start + "\r\n"s).refused(400));
    EXPECT_TRUE(parse_request(start + "Host: a\r\nHost: a\r\n\r\n"s).refused(400));
    EXPECT_TRUE(parse_request(start + "Host: a\r\nhost: b\r\n\r\n"s).refused(400));
    EXPECT_TRUE(parse_request(start + "Host:\r\n\r\n"s).refused(400));
    EXPECT_TRUE(parse_request(start + "Host: a, b\r\n\r\n"s).refused(400));
    EXPECT_TRUE(parse_request(start + "Host: a:\r\n\r\n"s).refused(400));
    EXPECT_TRUE(parse_request(start + "Host: a\r\n\r\n"s).done());
  }
  EXPECT_TRUE(parse_request("GET / HTTP/1.0\r\n\r\n").refused(400));
  EXPECT_TRUE(parse_request("GET http://a/ HTTP/1.0\r\n\r\n").done());
  EXPECT_TRUE(parse_request("CONNECT a:443 HTTP/1.1\r\n\r\n").refused(400));
}

// http1-022
TEST(RequestHead, DeniesOddRequestLines) {
  auto status = [](std::string line) {
    auto parsed = parse_request(std::move(line) + "\r\nHost: a\r\n\r\n");
    return parsed.done() ? 0 : static_cast<int>(parsed.result.status);
  };
  EXPECT_EQ(status("GET / HTTP/1.1"), 0);
  EXPECT_EQ(status("GET / HTTP/1.0"), 0);
  for (const char* line : {"GET / HTTP/1.17", "GET / HTTP/4294967297.1", "GET /\nHTTP/1.1", "GET /", "G\"E / HTTP/1.1", "GET  / HTTP/1.1",
                           "GET /  HTTP/1.1", "GET / HTTP/1.1 ", " GET / HTTP/1.1", "GET\t/ HTTP/1.1", "GET / http/1.1", "GET / HTTP/1", "GET / HTTP/1,1",
                           "GET / HTTP/+1.1", "GET / HTTP/1.1\t", "GET", "GET ", "GET / HTTP/ 1.1", "", "GET / x HTTP/1.1", "GET /\x7f HTTP/1.1", "GET /\tx HTTP/1.1"})
    EXPECT_EQ(status(line), 400) << line;
  for (const char* line : {"GET / HTTP/1.2", "GET / HTTP/2.0", "GET / HTTP/0.9", "PRI * HTTP/2.0", "GET / HTTP/3.1"}) EXPECT_EQ(status(line), 505) << line;
}

TEST(RequestHead, DeniesOtherProtocolsAtTheirFirstByte) {
  EXPECT_TRUE(parse_request("\x16\x03\x01").refused(400));
  EXPECT_TRUE(parse_request("\r\n").refused(400));
  EXPECT_TRUE(parse_request("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n").refused(400));
  EXPECT_TRUE(parse_request("SSH-2.0-x\r\n").refused(400));  // connect-006
}

// http1-023
TEST(RequestHead, DeniesChunkedInHttp10) {
  EXPECT_TRUE(parse_request("POST http://allowed.test/ HTTP/1.0\r\nHost: allowed.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").refused(400));
  EXPECT_TRUE(parse_request("POST http://allowed.test/ HTTP/1.0\r\nHost: allowed.test\r\nContent-Length: 5\r\n\r\n").done());
}

// http1-024
TEST(RequestHead, KeepsBodyOfGet) {
  auto parsed = parse_request(get_with("Content-Length: 10\r\n") + "0123456789");
  ASSERT_TRUE(parsed.done());
  EXPECT_EQ(parsed->body, Framing::of_length(10));
}

// http1-025
TEST(RequestHead, DeniesConnectionListingWhatDecides) {
  for (const char* name : {"Host", "content-length", "Content-Type"})
    EXPECT_TRUE(parse_request(get_with("Connection: close, "s + name + "\r\n")).refused(400)) << name;
  EXPECT_TRUE(parse_request(get_with("Connection: close\r\nConnection: x,\thost\r\n")).refused(400));
  EXPECT_TRUE(parse_request(get_with("Connection: a b\r\n")).refused(400));
  EXPECT_TRUE(parse_request(get_with("Connection: \"Host\"\r\n")).refused(400));
  auto parsed = parse_request(get_with("Connection: close, Authorization, X-Task-Id\r\nauthorization: a\r\nX-Task-ID: b\r\nX-Other: c\r\n"));
  ASSERT_TRUE(parsed.done());
  for (Field field : parsed->fields)
    EXPECT_EQ(field.listed, field.value == "a" || field.value == "b") << field.name;
  EXPECT_FALSE(parsed->keep_alive);
}

TEST(RequestHead, BoundsConnectionOptions) {
  std::string options;
  for (int i = 0; i < 32; ++i) options += "x,";
  EXPECT_TRUE(parse_request(get_with("Connection: " + options + "\r\n")).refused(400));
  EXPECT_TRUE(parse_request(get_with("Connection: " + options.substr(0, options.size() - 1) + "\r\n")).done());
}

TEST(RequestHead, DecidesPersistence) {
  auto keeps = [](const char* version, const char* lines) {
    auto parsed = parse_request("GET / "s + version + "\r\nHost: a\r\n" + lines + "\r\n");
    EXPECT_TRUE(parsed.done());
    return parsed->keep_alive;
  };
  EXPECT_TRUE(keeps("HTTP/1.1", ""));
  EXPECT_FALSE(keeps("HTTP/1.1", "Connection: Close\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.1", "Connection: keep-alive\r\nConnection: close\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.0", ""));
  EXPECT_TRUE(keeps("HTTP/1.0", "Connection: Keep-Alive\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.0", "Proxy-Connection: keep-alive\r\n"));
}

// http1-029
TEST(RequestHead, ReadsExpect) {
  EXPECT_TRUE(parse_request(post_with("Expect: 100-continue\r\nContent-Length: 60\r\n"))->expect_continue);
  EXPECT_TRUE(parse_request(post_with("Expect: 100-Continue\r\nTransfer-Encoding: chunked\r\n"))->expect_continue);
  EXPECT_FALSE(parse_request(post_with("Expect: 100-continue\r\n"))->expect_continue);
  EXPECT_FALSE(parse_request(post_with("Content-Length: 60\r\n"))->expect_continue);
  EXPECT_TRUE(parse_request(post_with("Expect: magic\r\nContent-Length: 60\r\n")).refused(417));
  EXPECT_TRUE(parse_request(post_with("Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 60\r\n")).refused(400));
}

// connect-007: what follows the head is not part of it.
TEST(RequestHead, StopsBehindConnect) {
  std::string head = connect_to("denied.test:443");
  auto parsed = parse_request(head + get_with(""));
  ASSERT_TRUE(parsed.done());
  EXPECT_EQ(parsed.result.consumed, head.size());
}

// connect-008
TEST(RequestHead, DeniesConnectWithBody) {
  std::string start = "CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n";
  EXPECT_TRUE(parse_request(start + "Content-Length: 30\r\n\r\n").refused(400));
  EXPECT_TRUE(parse_request(start + "Content-Length: 0\r\n\r\n").refused(400));
  EXPECT_TRUE(parse_request(start + "Transfer-Encoding: chunked\r\n\r\n").refused(400));
  EXPECT_TRUE(parse_request(start + "\r\n").done());
}

// input-001, -002, -004, -005, -007, -008, -011, -014, -016, -017, -018: the authority's own test has them byte by byte; here the request.
TEST(RequestHead, DeniesConnectToOddAuthorities) {
  EXPECT_TRUE(parse_request(connect_to("allowed.test:443")).done());
  for (auto target : {"allowed.test:443@denied.test:443"s, "denied.test\0.allowed.test:443"s, "[denied.test]:443"s, "denied\xe3\x80\x82test:443"s,
                      "2130706433:443"s, "0177.0.0.1:443"s, "127.1:443"s, "[::1%25.allowed.test]:80"s, "allowed.test:65979"s, "allowed.test:0443"s,
                      "allowed.test:"s, "allowed.test"s, "allowed%2etest:443"s, "/"s, "http://allowed.test/"s, "allowed.test:443/"s, "*"s, "allowed.test: 443"s})
    EXPECT_TRUE(parse_request(connect_to(target)).refused(400)) << target;
}

// input-001, -002, -003, -018, -023
TEST(RequestHead, DeniesOddAbsoluteTargets) {
  auto status = [](std::string target) {
    auto parsed = parse_request("GET " + target + " HTTP/1.1\r\nHost: allowed.test\r\n\r\n");
    return parsed.done() ? 0 : static_cast<int>(parsed.result.status);
  };
  EXPECT_EQ(status("http://allowed.test/"), 0);
  for (const char* target : {"http://allowed.test@denied.test/", "http://allowed.test\\@denied.test/", "http://denied.test#.allowed.test/", "http://denied%2etest/",
                             "http://denied%E3%80%82test/", "http:///", "http://", "http:/allowed.test/", "http:allowed.test/", "allowed.test", "allowed.test:80",
                             "://allowed.test/", "1http://allowed.test/", "ht_tp://allowed.test/", "~x", "?x", "%68ttp://allowed.test/", "http://:80/", "http://allowed.test:/"})
    EXPECT_EQ(status(target), 400) << target;
  for (const char* target : {"https://allowed.test/", "ftp://allowed.test/x", "file:///etc/passwd", "ws://allowed.test/", "unix:///run/docker.sock"})
    EXPECT_EQ(status(target), 501) << target;
}

// input-003, path-006, path-010
TEST(RequestHead, DeniesEveryByteThatTargetsMayNotHold) {
  for (int c = 0; c < 256; ++c) {
    std::string target = "/public"s + static_cast<char>(c) + "x";
    auto parsed = parse_request("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n");
    bool allowed = c > 0x20 && c < 0x7f && std::strchr("#\"<>\\%", c) == nullptr;
    EXPECT_EQ(parsed.done(), allowed) << c;
    EXPECT_EQ(parse_request("GET /?" + target + " HTTP/1.1\r\nHost: a\r\n\r\n").done(), allowed) << c;
  }
}

// path-010
TEST(RequestHead, DeniesBrokenPercentEncoding) {
  auto accepts = [](std::string target) { return parse_request("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n").done(); };
  for (const char* target : {"/%zz", "/%", "/%4", "/%4g", "/%%41", "/?%", "/?a=%2", "/%u0041"}) EXPECT_FALSE(accepts(target)) << target;
  for (const char* target : {"/%41", "/%2f%2F", "/a%20b?c=%25"}) EXPECT_TRUE(accepts(target)) << target;
}

// input-022
TEST(RequestHead, BoundsTargetFieldsAndHead) {
  Limits limits;
  auto with_target = [&](std::size_t n) { return parse_request("GET /" + std::string(n - 1, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", limits); };
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
  EXPECT_TRUE(parse_request(get_with("X: y" + std::string(1000 - (text.size() - 1000), 'y') + "\r\n"), limits).refused(431));
  EXPECT_TRUE(parse_request(text.substr(0, 1000), limits).refused(431));
  EXPECT_EQ(parse_request(text.substr(0, 999), limits).result.state, ParseState::kIncomplete);

  EXPECT_TRUE(parse_request(std::string(33, 'M') + " / HTTP/1.1\r\nHost: a\r\n\r\n").refused(501));
  EXPECT_TRUE(parse_request(std::string(32, 'M') + " / HTTP/1.1\r\nHost: a\r\n\r\n").done());
  EXPECT_TRUE(parse_request(get_with(std::string(257, 'n') + ": v\r\n")).refused(431));
  EXPECT_TRUE(parse_request(get_with(std::string(256, 'n') + ": v\r\n")).done());
}

TEST(RequestHead, NeverKeepsMoreFieldsThanItHasRoomFor) {
  Limits limits;
  limits.max_fields = 100'000;
  std::string lines;
  for (std::size_t i = 1; i < Fields::kCapacity; ++i) lines += "X: y\r\n";
  EXPECT_TRUE(parse_request(get_with(lines), limits).done());
  EXPECT_TRUE(parse_request(get_with(lines + "X: y\r\n"), limits).refused(431));
}

// http1-031: one head at a time, in order, with one RequestHead.
TEST(RequestHead, ReadsPipelinedRequestsOneByOne) {
  std::string text = "GET /ok HTTP/1.1\r\nHost: a.test\r\n\r\nDELETE /x HTTP/1.1\r\nHost: a.test\r\n\r\nGET /ok2 HTTP/1.1\r\nHost: b.test\r\nX: 1\r\n\r\n";
  std::string_view rest = text;
  RequestHead head;
  std::string seen;
  while (!rest.empty()) {
    ParseResult result = parse_request_head(rest, {}, head);
    ASSERT_EQ(result.state, ParseState::kDone);
    seen += std::string(head.method) + " " + std::string(head.path) + " " + head.authority->text() + " " + std::to_string(head.fields.size()) + "\n";
    rest.remove_prefix(result.consumed);
  }
  EXPECT_EQ(seen, "GET /ok a.test 1\nDELETE /x a.test 1\nGET /ok2 b.test 2\n");
}

TEST(RequestHead, ParsesAnewWhenTheBufferMoved) {
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

TEST(RequestHead, DoesNotRescanForASlowClient) {
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
TEST(RequestHead, GivesTheSameForRandomCuts) {
  std::mt19937 random(7);
  const std::string texts[] = {post_with("Content-Length: 5\r\nConnection: close, X-A\r\nX-A: b\r\n"), connect_to("[2001:db8::1]:443"),
                               get_with("X: a\nY: b\r\n"), get_with("Expect: x\r\n")};
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

// Case client-001 and its kin: what real clients send.
TEST(RequestHead, AcceptsRealClients) {
  for (const char* text : {
           "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\nProxy-Connection: Keep-Alive\r\n\r\n",
           "CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\nUser-Agent: curl/7.88.1\r\nProxy-Connection: Keep-Alive\r\n\r\n",
           "GET http://allowed.test/ HTTP/1.1\r\nUser-Agent: Wget/1.21.3\r\nAccept: */*\r\nAccept-Encoding: identity\r\nHost: allowed.test\r\n"
           "Connection: Keep-Alive\r\nProxy-Connection: Keep-Alive\r\n\r\n",
           "GET http://allowed.test/ HTTP/1.1\r\nAccept-Encoding: identity\r\nHost: allowed.test\r\nUser-Agent: Python-urllib/3.11\r\nConnection: close\r\n\r\n",
           "CONNECT allowed.test:443 HTTP/1.0\r\n\r\n",
           "GET / HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nHost: allowed.test\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n"
           "Upgrade: h2c\r\nUser-Agent: Java-http-client/17.0.1\r\n\r\n",
           "GET http://deb.allowed.test/debian/dists/x/InRelease HTTP/1.1\r\nHost: deb.allowed.test\r\nUser-Agent: Debian APT-HTTP/1.3 (2.6.1)\r\n"
           "Cache-Control: max-age=0\r\nIf-Modified-Since: Sat, 01 Jan 2022 00:00:00 GMT\r\nRange: bytes=100-\r\n\r\n",
           "POST /r?service=git-upload-pack HTTP/1.1\r\nHost: git.test\r\nUser-Agent: git/2.39.5\r\nAccept-Encoding: deflate, gzip\r\n"
           "Content-Type: application/x-git-upload-pack-request\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n",
           "GET /a|b[c]{d}^`?x={[^ HTTP/1.1\r\nHost: a\r\n\r\n",
       })
    EXPECT_TRUE(parse_request(text).done()) << text;
  // Case http1-027: the offer parses as a plain request; the writer does not pass it on.
}

}  // namespace
}  // namespace sallyport::http
