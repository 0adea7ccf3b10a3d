#include "proxy/exchange/form_body.h"

#include <gtest/gtest.h>

#include <string>

#include "core/http/request_head.h"

namespace sallyport::proxy {
namespace {

FormBody of(const std::string& fields) {
  std::string text = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n" + fields + "\r\n";
  http::RequestHead head;
  EXPECT_EQ(http::parse_request_head(text, {}, head).state, http::ParseState::kDone);
  return form_body(head.fields);
}

// policy-006
TEST(FormBody, IsKnownWhateverItsCaseParametersAndCompany) {
  EXPECT_EQ(of("Content-Type: application/x-www-form-urlencoded\r\n"), FormBody::kPlain);
  EXPECT_EQ(of("content-TYPE: Application/X-WWW-Form-URLEncoded; charset=utf-8\r\n"), FormBody::kPlain);
  EXPECT_EQ(of("Content-Type: text/plain\r\nContent-Type: application/x-www-form-urlencoded\r\n"), FormBody::kPlain);
  EXPECT_EQ(of("Content-Type: text/plain, application/x-www-form-urlencoded\r\n"), FormBody::kPlain);
}

TEST(FormBody, OtherTypesAreNone) {
  EXPECT_EQ(of(""), FormBody::kNo);
  EXPECT_EQ(of("Content-Type: application/json\r\n"), FormBody::kNo);
  EXPECT_EQ(of("X-Content-Type: application/x-www-form-urlencoded\r\n"), FormBody::kNo);
  EXPECT_EQ(of("Content-Type: application/json\r\nContent-Encoding: gzip\r\n"), FormBody::kNo);
}

TEST(FormBody, InsideACodingCannotBeRead) {
  EXPECT_EQ(of("Content-Type: application/x-www-form-urlencoded\r\nContent-Encoding: gzip\r\n"), FormBody::kEncoded);
  EXPECT_EQ(of("Content-Encoding: gzip\r\nContent-Encoding: identity\r\nContent-Type: application/x-www-form-urlencoded\r\n"), FormBody::kEncoded);
  EXPECT_EQ(of("Content-Type: application/x-www-form-urlencoded\r\nContent-Encoding: Identity\r\n"), FormBody::kPlain);
}

}  // namespace
}  // namespace sallyport::proxy
