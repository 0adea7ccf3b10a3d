#include "policies/engine/target.h"

#include <gtest/gtest.h>

namespace sallyport::policy {
namespace {

TEST(Target, TakesNamesAndLiteralsInTheirOneForm) {
  EXPECT_EQ(Target::parse("API.example.").value().text(), "api.example");
  EXPECT_EQ(Target::parse("192.0.2.1").value().authority(Port::of(80)), "192.0.2.1:80");
  EXPECT_EQ(Target::parse("[2001:DB8::1]").value().authority(Port::of(80)), "[2001:db8::1]:80");
  EXPECT_TRUE(Target::parse("192.0.2.1").value().is_literal());
  EXPECT_FALSE(Target::parse("a.test").value().is_literal());
}

TEST(Target, RefusesOtherHosts) {  // input-001, input-002, input-004, input-005, input-007, input-008, input-011,
                                   // input-014, input-018
  using namespace std::string_view_literals;
  for (auto text :
       {"[denied.test]"sv, "[[denied.test]]"sv, "[192.0.2.1]"sv, "[::1"sv, "::1"sv, "[::1%25.allowed.test]"sv,
        "[fe80::1%eth0]"sv, "a.test@b.test"sv, "a.test\\"sv, "denied.test\0.allowed.test"sv, "denied\xe3\x80\x82test"sv,
        "denied%2etest"sv, "2130706433"sv, "0177.0.0.1"sv, "127.1"sv, "0x7f000001"sv, "127.0.0.01"sv, ""sv, "[]"sv})
    EXPECT_FALSE(Target::parse(text)) << text;
  for (int byte = 1; byte <= 0x20; ++byte)
    EXPECT_FALSE(Target::parse(std::string("denied.test") + static_cast<char>(byte) + ".allowed.test")) << byte;
  EXPECT_FALSE(Target::parse("denied.test\x7f.allowed.test"));
}

}  // namespace
}  // namespace sallyport::policy
