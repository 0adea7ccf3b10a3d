#include "proxy/client/first_bytes.h"

#include <gtest/gtest.h>

#include <string>

namespace sallyport::proxy {
namespace {

using namespace std::string_view_literals;

TEST(FirstBytes, OfARequestAreAMethodAndASpace) {
  EXPECT_EQ(classify("GET / HTTP/1.1\r\n"), Looks::kHttp);
  EXPECT_EQ(classify("PROPFIND "), Looks::kHttp);
  EXPECT_EQ(classify("GE"), Looks::kUnknown);
  EXPECT_EQ(classify(""), Looks::kUnknown);
}

TEST(FirstBytes, OfTlsAreAHandshakeRecord) {
  EXPECT_EQ(classify("\x16\x03\x01"sv), Looks::kTls);
  EXPECT_EQ(classify("\x16"sv), Looks::kUnknown);
  EXPECT_EQ(classify("\x16\x02"sv), Looks::kOther);
}

TEST(FirstBytes, OfAnythingElseAreNeither) {
  EXPECT_EQ(classify("SSH-2.0-OpenSSH\r\n"), Looks::kOther);
  EXPECT_EQ(classify(" GET / HTTP/1.1\r\n"), Looks::kOther);
  EXPECT_EQ(classify("\0\0\0\x08"sv), Looks::kOther);
  EXPECT_EQ(classify(std::string(40, 'A')), Looks::kOther);
}

}  // namespace
}  // namespace sallyport::proxy
