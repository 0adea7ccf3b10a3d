// The fields of a request: framing, Host, Connection, Expect, and what no field may hold.
#include "core/http/request_head.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "core/http/test_messages.h"

namespace sallyport::http {
namespace {

using namespace std::string_literals;

// http1-001
TEST(RequestHead, DeniesLengthTogetherWithChunked) {
  EXPECT_TRUE(
      parse_request(post_with("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\nG").refused(400));
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
  for (const char* value : {"+5", "-5", "5_0", "0x10", "010", " 5 5", "5,5", "18446744073709551617",
                            "9223372036854775808", "", "5;", "5.0", "1e3", "00", "\xb2", "\"5\"", "chunked"}) {
    EXPECT_TRUE(parse_request(post_with("Content-Length: "s + value + "\r\n")).refused(400)) << value;
    EXPECT_TRUE(parse_request(post_with("Content-Length: "s + value + "\r\nContent-Length: 5\r\n")).refused(400))
        << value;
  }
  for (const char* value : {"0", "5", "9223372036854775807", " 5", "5 ", "\t5\t"})
    EXPECT_TRUE(parse_request(post_with("Content-Length:"s + value + "\r\n")).done()) << value;
}

// http1-005
TEST(RequestHead, DeniesTransferEncodingOtherThanChunked) {
  for (const char* value : {"chunked,", ",chunked", "chunked, gzip", "gzip, chunked", "chunked;x=1",
                            "\x0b"
                            "chunked",
                            "xchunked", "identity", "", "chunked chunked", "\"chunked\"", "chunke", "gzip",
                            "chunked\xa0", "chunked, chunked"}) {
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
  EXPECT_TRUE(parse_request("GET http://allowed.test/ HTTP/1.1\r\n\tHost: denied.test\r\nHost: allowed.test\r\n\r\n")
                  .refused(400));
  EXPECT_TRUE(parse_request("GET http://allowed.test/ HTTP/1.1\r\n Host: denied.test\r\nHost: allowed.test\r\n\r\n")
                  .refused(400));
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
    bool token = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                 (c != 0 && std::strchr("!#$%&'*+-.^_`|~", c));
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

// http1-023
TEST(RequestHead, DeniesChunkedInHttp10) {
  EXPECT_TRUE(
      parse_request(
          "POST http://allowed.test/ HTTP/1.0\r\nHost: allowed.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
          .refused(400));
  EXPECT_TRUE(
      parse_request("POST http://allowed.test/ HTTP/1.0\r\nHost: allowed.test\r\nContent-Length: 5\r\n\r\n").done());
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
  auto parsed = parse_request(
      get_with("Connection: close, Authorization, X-Task-Id\r\nauthorization: a\r\nX-Task-ID: b\r\nX-Other: c\r\n"));
  ASSERT_TRUE(parsed.done());
  for (Field field : parsed->fields) EXPECT_EQ(field.listed, field.value == "a" || field.value == "b") << field.name;
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
  EXPECT_TRUE(
      parse_request(post_with("Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 60\r\n")).refused(400));
}

// connect-008
TEST(RequestHead, DeniesConnectWithBody) {
  std::string start = "CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n";
  EXPECT_TRUE(parse_request(start + "Content-Length: 30\r\n\r\n").refused(400));
  EXPECT_TRUE(parse_request(start + "Content-Length: 0\r\n\r\n").refused(400));
  EXPECT_TRUE(parse_request(start + "Transfer-Encoding: chunked\r\n\r\n").refused(400));
  EXPECT_TRUE(parse_request(start + "\r\n").done());
}

// Case client-001 and its kin: what real clients send.
TEST(RequestHead, AcceptsRealClients) {
  for (const char* text : {
           "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nUser-Agent: curl/7.88.1\r\nAccept: "
           "*/*\r\nProxy-Connection: Keep-Alive\r\n\r\n",
           "CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\nUser-Agent: "
           "curl/7.88.1\r\nProxy-Connection: Keep-Alive\r\n\r\n",
           "GET http://allowed.test/ HTTP/1.1\r\nUser-Agent: Wget/1.21.3\r\nAccept: */*\r\nAccept-Encoding: "
           "identity\r\nHost: allowed.test\r\n"
           "Connection: Keep-Alive\r\nProxy-Connection: Keep-Alive\r\n\r\n",
           "GET http://allowed.test/ HTTP/1.1\r\nAccept-Encoding: identity\r\nHost: allowed.test\r\nUser-Agent: "
           "Python-urllib/3.11\r\nConnection: close\r\n\r\n",
           "CONNECT allowed.test:443 HTTP/1.0\r\n\r\n",
           "GET / HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nHost: allowed.test\r\nHTTP2-Settings: "
           "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n"
           "Upgrade: h2c\r\nUser-Agent: Java-http-client/17.0.1\r\n\r\n",
           "GET http://deb.allowed.test/debian/dists/x/InRelease HTTP/1.1\r\nHost: deb.allowed.test\r\nUser-Agent: "
           "Debian APT-HTTP/1.3 (2.6.1)\r\n"
           "Cache-Control: max-age=0\r\nIf-Modified-Since: Sat, 01 Jan 2022 00:00:00 GMT\r\nRange: bytes=100-\r\n\r\n",
           "POST /r?service=git-upload-pack HTTP/1.1\r\nHost: git.test\r\nUser-Agent: git/2.39.5\r\nAccept-Encoding: "
           "deflate, gzip\r\n"
           "Content-Type: application/x-git-upload-pack-request\r\nTransfer-Encoding: chunked\r\nExpect: "
           "100-continue\r\n\r\n",
           "GET /a|b[c]{d}^`?x={[^ HTTP/1.1\r\nHost: a\r\n\r\n",
       })
    EXPECT_TRUE(parse_request(text).done()) << text;
  // Case http1-027: the offer parses as a plain request; the writer does not pass it on.
}

}  // namespace
}  // namespace sallyport::http
