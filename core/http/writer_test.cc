#include "core/http/writer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "core/http/test_messages.h"

namespace sallyport::http {
namespace {

using namespace std::string_literals;

// Parses a client's request and writes it upstream.
std::string forward(std::string text, std::span<const AddedField> added = {}) {
  auto parsed = parse_request(std::move(text));
  EXPECT_TRUE(parsed.done()) << parsed.result.reason;
  if (!parsed.done()) return "";
  std::string target(parsed->path);
  if (parsed->has_query) target += "?" + std::string(parsed->query);
  UpstreamRequest request;
  request.method = parsed->method;
  request.target = target;
  request.authority = &*parsed->authority;
  request.fields = &parsed->fields;
  request.added = added;
  request.body = parsed->body;
  request.expect_continue = parsed->expect_continue;
  std::string out;
  auto written = write_request_head(out, request);
  EXPECT_TRUE(written) << written.error().detail;
  return out;
}

std::string relay(std::string text, std::string_view method = "GET", std::uint8_t client_minor = 1) {
  auto parsed = parse_response(std::move(text), {method});
  EXPECT_TRUE(parsed.done()) << parsed.result.reason;
  ClientResponse response;
  response.status = parsed->status;
  response.reason = parsed->reason;
  response.fields = &parsed->fields;
  response.body = client_framing(parsed->body, client_minor);
  response.content_length = parsed->content_length;
  response.client_minor = client_minor;
  response.answers_head = method == "HEAD";
  std::string out;
  auto written = write_response_head(out, response);
  EXPECT_TRUE(written) << written.error().detail;
  return out;
}

TEST(RequestWriter, WritesOneCanonicalForm) {
  EXPECT_EQ(
      forward(
          "POST http://Allowed.test:80/a?b HTTP/1.1\r\nhost: ALLOWED.test\r\nX-a:  b  \r\ncontent-length:3\r\n\r\n"),
      "POST /a?b HTTP/1.1\r\nHost: allowed.test\r\nX-a: b\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(forward("GET http://allowed.test:8080 HTTP/1.0\r\n\r\n"),
            "GET / HTTP/1.1\r\nHost: allowed.test:8080\r\n\r\n");
  EXPECT_EQ(forward("OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n"), "OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n");
  EXPECT_EQ(forward("PUT / HTTP/1.1\r\nHost: a.test\r\nTransfer-encoding: CHUNKED\r\nexpect: 100-CONTINUE\r\n\r\n"),
            "PUT / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n");
}

// http1-025
TEST(RequestWriter, RemovesListedFieldsAndKeepsAddedOnes) {
  const AddedField added[] = {{"Authorization", "Bearer s"}, {"X-Task-Id", "t-1"}};
  EXPECT_EQ(
      forward(
          "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close, Authorization, X-Task-Id, X-Mine\r\nX-Mine: 1\r\n\r\n",
          added),
      "GET / HTTP/1.1\r\nHost: a.test\r\nAuthorization: Bearer s\r\nX-Task-Id: t-1\r\n\r\n");
}

TEST(RequestWriter, RemovesClientCopiesOfAddedFields) {
  const AddedField added[] = {{"Authorization", "Bearer s"}};
  EXPECT_EQ(forward("GET / HTTP/1.1\r\nHost: a.test\r\nauthorization: a\r\nX: y\r\nAUTHORIZATION: b\r\n\r\n", added),
            "GET / HTTP/1.1\r\nHost: a.test\r\nX: y\r\nAuthorization: Bearer s\r\n\r\n");
  EXPECT_EQ(forward("GET / HTTP/1.1\r\nHost: a.test\r\nauthorization: a\r\n\r\n"),
            "GET / HTTP/1.1\r\nHost: a.test\r\nauthorization: a\r\n\r\n");
}

// http1-026, http1-027
TEST(RequestWriter, DropsHopByHopFields) {
  EXPECT_EQ(forward("GET / HTTP/1.1\r\nHost: a.test\r\nTE: trailers\r\nKeep-Alive: x\r\nProxy-Connection: "
                    "keep-alive\r\nTrailer: X\r\nUpgrade: h2c\r\n"
                    "HTTP2-Settings: AAMAAABk\r\nConnection: Upgrade, HTTP2-Settings\r\nAccept: */*\r\n\r\n"),
            "GET / HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\n\r\n");
}

// connect-013
TEST(RequestWriter, NeverForwardsProxyAuthorization) {
  EXPECT_EQ(forward("GET http://echo.test/headers HTTP/1.1\r\nHost: echo.test\r\nProxy-Authorization: Basic "
                    "dGFzazp0b2tlbg==\r\n\r\n"),
            "GET /headers HTTP/1.1\r\nHost: echo.test\r\n\r\n");
}

// http1-034, input-024, policy-006
TEST(RequestWriter, DropsForwardingAndOverrideFields) {
  EXPECT_EQ(forward(get_with("X-Forwarded-For: 10.9.9.9\r\nX-Forwarded-Host: x\r\nForwarded: for=x\r\nVia: 1.1 "
                             "me\r\nX-Real-IP: 1.2.3.4\r\nFly-Src: a\r\n"
                             "X-HTTP-Method-Override: DELETE\r\nX-HTTP-Method: PUT\r\nX-Method-Override: "
                             "PATCH\r\nX-Original-URL: /admin\r\nX-Rewrite-URL: /admin\r\n"
                             "X-Unix-Socket: /run/docker.sock\r\nMax-Forwards: 3\r\nContent_Length: "
                             "7\r\nX_Forwarded_For: 1.1.1.1\r\nX-Kept: 1\r\n")),
            "GET / HTTP/1.1\r\nHost: allowed.test\r\nX-Kept: 1\r\n\r\n");
}

// http1-032
TEST(RequestWriter, DeniesControlBytesInWhatItIsGiven) {
  auto authority = Authority::parse("a.test").value();
  UpstreamRequest good;
  good.method = "GET";
  good.target = "/";
  good.authority = &authority;
  auto refuses = [](const UpstreamRequest& request) {
    std::string out = "before";
    auto written = write_request_head(out, request);
    EXPECT_EQ(out == "before", !written.has_value());
    return !written && written.error().kind == ErrorKind::kInvalid;
  };
  EXPECT_FALSE(refuses(good));
  for (auto bytes : {"\r\nX-Evil: 1"s, "\n"s, "\r"s, "\0"s, "\x7f"s, "\x01"s}) {
    for (auto value : {"a" + bytes, bytes + "a", "a" + bytes + "b"}) {
      auto request = good;
      AddedField in_value[] = {{"X-A", value}}, in_name[] = {{value, "v"}};
      request.added = in_value;
      EXPECT_TRUE(refuses(request));
      request.added = in_name;
      EXPECT_TRUE(refuses(request));
      request = good;
      request.method = value;
      EXPECT_TRUE(refuses(request));
      request = good;
      std::string target = "/" + value;
      request.target = target;
      EXPECT_TRUE(refuses(request));
    }
  }
  AddedField fine[] = {{"X-A", "a b\tc"}};
  good.added = fine;
  EXPECT_FALSE(refuses(good));
}

TEST(RequestWriter, DeniesWhatIsNotARequest) {
  auto authority = Authority::parse("a.test").value();
  UpstreamRequest good;
  good.method = "GET";
  good.target = "/";
  good.authority = &authority;
  std::string out;
  auto refuses = [&](auto change) {
    auto request = good;
    change(request);
    return !write_request_head(out, request);
  };
  EXPECT_FALSE(refuses([](auto&) {}));
  for (const char* target : {"", "*", "a", "http://a.test/", "/a b", "/a#b", "/a\\b"})
    EXPECT_TRUE(refuses([&](auto& r) { r.target = target; })) << target;
  for (const char* method : {"", "G ET", "CONNECT", "GET /"})
    EXPECT_TRUE(refuses([&](auto& r) { r.method = method; })) << method;
  EXPECT_TRUE(refuses([](auto& r) { r.authority = nullptr; }));
  EXPECT_TRUE(refuses([](auto& r) { r.body = Framing::until_close(); }));
  for (const char* name : {"Host", "Connection", "Content-Length", "transfer-encoding", "Expect", "TE", "Trailer",
                           "Upgrade", "Content_Length"}) {
    AddedField added[] = {{name, "1"}};
    EXPECT_TRUE(refuses([&](auto& r) { r.added = added; })) << name;
  }
}

TEST(ResponseWriter, RestatesFraming) {
  EXPECT_EQ(relay("HTTP/1.1 200 OK\r\ncontent-length: 5\r\nServer: x\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(relay("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(relay("HTTP/1.0 200 \r\n\r\n"), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(relay("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "GET", 0),
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(relay("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "GET", 0),
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(relay("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD"),
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(relay("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(relay("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"), "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(relay("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nConnection: close\r\n\r\n"),
            "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n");
  EXPECT_EQ(relay("HTTP/1.1 100 Continue\r\n\r\n"), kContinue);
}

// http1-033, tls-015
TEST(ResponseWriter, DropsHopByHopProxyAndAltSvc) {
  EXPECT_EQ(relay("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: "
                  "5\r\nProxy-Authenticate: Basic\r\nProxy-Status: forged\r\n"
                  "Alt-Svc: h3=\":443\"\r\nTrailer: X\r\nUpgrade: h2c\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nVia: 1.1 "
                  "cdn\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nVia: 1.1 cdn\r\nContent-Length: 0\r\n\r\n");
}

TEST(ResponseWriter, DeniesContradictions) {
  ClientResponse good;
  good.body = Framing::of_length(1);
  std::string out;
  auto refuses = [&](auto change) {
    auto response = good;
    change(response);
    std::size_t before = out.size();
    bool refused = !write_response_head(out, response);
    EXPECT_EQ(refused, out.size() == before);
    return refused;
  };
  EXPECT_FALSE(refuses([](auto&) {}));
  EXPECT_TRUE(refuses([](auto& r) { r.body = Framing::none(); }));
  EXPECT_TRUE(refuses([](auto& r) { r.answers_head = true; }));
  EXPECT_TRUE(refuses([](auto& r) { r.status = 204; }));
  EXPECT_TRUE(refuses([](auto& r) { r.status = 304; }));
  EXPECT_TRUE(refuses([](auto& r) {
    r.status = 101;
    r.body = Framing::none();
  }));
  EXPECT_TRUE(refuses([](auto& r) { r.status = 99; }));
  EXPECT_TRUE(refuses([](auto& r) { r.status = 600; }));
  EXPECT_TRUE(refuses([](auto& r) {
    r.body = Framing::chunked();
    r.client_minor = 0;
  }));
  EXPECT_TRUE(refuses([](auto& r) { r.reason = "a\r\nX: y"; }));
  EXPECT_TRUE(refuses([](auto& r) { r.reason = std::string_view("a\0", 2); }));
}

// Round trip: what a random client sends, once written, parses to the same message, and writing that again changes
// nothing.
TEST(RequestWriter, RoundTrips) {
  std::mt19937 random(11);
  auto pick = [&](auto&... choices) {
    const char* all[] = {choices...};
    return all[random() % std::size(all)];
  };
  for (int round = 0; round < 3000; ++round) {
    std::string text = pick("GET", "POST", "PUT", "PROPFIND", "x!y");
    text += " "s +
            pick("/", "http://a.test/x%20y?z=1", "http://a.test", "/?", "/a;b/../c?&&=%41", "http://A.TEST:80/") +
            " HTTP/1.1\r\nHost: a.test\r\n";
    int fields = static_cast<int>(random() % 6);
    for (int i = 0; i < fields; ++i) {
      text +=
          pick("Accept", "X-\x7c~", "cookie", "Connection", "Via", "Upgrade", "te", "Range", "X-Empty", "Proxy-Foo");
      text += pick(":", ": ", ":\t ");
      text += pick("a", "x, y", "close", "caf\xc3\xa9 \x80", "", "a:b");
      text += pick("", " ", "\t") + "\r\n"s;
    }
    text += pick("", "Content-Length: 0\r\n", "content-length: 77\r\n", "Transfer-Encoding: chunked\r\n");
    text += "\r\n";
    RequestHead head;
    if (parse_request_head(text, {}, head).state != ParseState::kDone) continue;
    std::string once = forward(text);
    auto parsed = parse_request(once);
    ASSERT_TRUE(parsed.done()) << once;
    EXPECT_EQ(parsed.result.consumed, once.size());
    EXPECT_EQ(parsed->method, head.method);
    EXPECT_EQ(parsed->path, head.path);
    EXPECT_EQ(parsed->query, head.query);
    EXPECT_EQ(parsed->has_query, head.has_query);
    EXPECT_EQ(parsed->body, head.body);
    EXPECT_TRUE(parsed->authority->same_as(*head.authority, Port::of(80)));
    EXPECT_EQ(forward(once), once);
  }
}

}  // namespace
}  // namespace sallyport::http
