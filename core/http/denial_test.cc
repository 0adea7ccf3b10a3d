#include "core/http/denial.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/http/test_messages.h"

namespace sallyport::http {
namespace {

using namespace std::string_literals;

struct Answer {
  Parsed<ResponseHead> head;
  std::string body;
  nlohmann::json document() const { return nlohmann::json::parse(body); }
};

Answer answer(const Denial& denial) {
  std::string text = denial_response(denial);
  Answer out;
  out.head = parse_response(text, {denial.head_request ? "HEAD" : "GET"});
  EXPECT_TRUE(out.head.done()) << out.head.result.reason << "\n" << text;
  out.body = text.substr(out.head.result.consumed);
  return out;
}

// client-012
TEST(Denial, TellsWhyInEveryPlace) {
  Denial denial;
  denial.reason = "no_rule";
  denial.title = "Denied by policy";
  denial.detail = "No rule allows GET http://denied.test/.";
  denial.nearest_rule = "prices";
  denial.category = "policy";
  denial.task = "t-1";
  denial.decision = "d-7";
  auto got = answer(denial);
  EXPECT_EQ(got.head->status, 403);
  EXPECT_EQ(got.head->reason, "Denied by policy: no_rule");
  EXPECT_EQ(got.head->fields.find("Content-Type"), "application/problem+json");
  EXPECT_EQ(got.head->fields.find("Proxy-Status"),
            "sallyport; error=http_request_denied; details=\"no_rule: No rule allows GET http://denied.test/.\"");
  EXPECT_FALSE(got.head->keep_alive);
  EXPECT_EQ(got.head->body, Framing::of_length(got.body.size()));
  auto document = got.document();
  EXPECT_EQ(document["type"], "urn:sallyport:reason:no_rule");
  EXPECT_EQ(document["title"], "Denied by policy");
  EXPECT_EQ(document["status"], 403);
  EXPECT_EQ(document["detail"], denial.detail);
  EXPECT_EQ(document["reason"], "no_rule");
  EXPECT_EQ(document["nearest_rule"], "prices");
  EXPECT_EQ(document["category"], "policy");
  EXPECT_EQ(document["task"], "t-1");
  EXPECT_EQ(document["decision"], "d-7");
  EXPECT_FALSE(document.contains("rule"));
}

TEST(Denial, EscapesHostileText) {
  std::string hostile = "a\r\nX-Evil: 1\r\n\r\n<b>\"\\\x1b[31m\0\xff\xe2\x80\xae"s;
  Denial denial;
  denial.reason = denial.title = denial.detail = denial.rule = denial.nearest_rule = denial.category = denial.task =
      denial.decision = hostile;
  auto got = answer(denial);
  EXPECT_FALSE(got.head->fields.find("X-Evil"));
  for (char c : *got.head.text) {
    auto byte = static_cast<unsigned char>(c);
    EXPECT_TRUE((byte >= 0x20 && byte < 0x7f) || c == '\r' || c == '\n') << int(byte);
  }
  EXPECT_EQ(got.document()["type"], "about:blank");
  EXPECT_TRUE(got.document().contains("detail"));
}

TEST(Denial, StaysBounded) {
  std::string huge(100'000, '\x01');
  Denial denial;
  denial.reason = denial.title = denial.detail = denial.rule = denial.nearest_rule = denial.category = denial.task =
      denial.decision = huge;
  auto got = answer(denial);
  EXPECT_LE(got.head.text->size(), 16u * 1024u);
  EXPECT_TRUE(got.document().is_object());
}

TEST(Denial, LeavesBodyOutOfAnswersToHead) {
  Denial denial;
  denial.head_request = true;
  auto got = answer(denial);
  EXPECT_EQ(got.body, "");
  EXPECT_GT(got.head->content_length.value_or(0), 0u);
}

TEST(Denial, StatesPersistence) {
  Denial denial;
  denial.close = false;
  EXPECT_TRUE(answer(denial).head->keep_alive);
  EXPECT_FALSE(answer(denial).head->fields.find(FieldId::kConnection));
  denial.client_minor = 0;
  EXPECT_EQ(answer(denial).head->fields.find(FieldId::kConnection), "keep-alive");
  denial.close = true;
  EXPECT_EQ(answer(denial).head->fields.find(FieldId::kConnection), "close");
}

TEST(Denial, KnowsItsStatuses) {
  for (int status : {400, 403, 408, 413, 414, 417, 421, 429, 431, 500, 501, 502, 503, 504, 505}) {
    Denial denial;
    denial.status = static_cast<std::uint16_t>(status);
    EXPECT_EQ(answer(denial).head->status, status);
  }
  Denial odd;
  odd.status = 200;
  EXPECT_EQ(answer(odd).head->status, 500);
  Denial wait;
  wait.status = 429;
  wait.retry_after = 5;
  wait.proxy_error = "dns_error";
  EXPECT_EQ(answer(wait).head->fields.find("Retry-After"), "5");
  EXPECT_NE(answer(wait).head->fields.find("Proxy-Status")->find("error=dns_error"), std::string_view::npos);
  wait.proxy_error = "x\r\ny";
  EXPECT_NE(answer(wait).head->fields.find("Proxy-Status")->find("error=connection_limit_reached"),
            std::string_view::npos);
}

}  // namespace
}  // namespace sallyport::http
