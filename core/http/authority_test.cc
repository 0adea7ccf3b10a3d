#include "core/http/authority.h"

#include <gtest/gtest.h>

#include <string>

namespace sallyport::http {
namespace {

using namespace std::string_literals;

bool accepts(std::string_view text) { return Authority::parse(text).has_value(); }

TEST(Authority, ReadsNamesLiteralsAndPorts) {
  auto name = Authority::parse("Allowed.TEST:443").value();
  EXPECT_EQ(name.text(), "allowed.test:443");
  ASSERT_NE(name.name(), nullptr);
  EXPECT_EQ(name.address(), nullptr);
  EXPECT_EQ(name.port()->value(), 443);

  auto v4 = Authority::parse("192.0.2.7").value();
  ASSERT_NE(v4.address(), nullptr);
  EXPECT_TRUE(v4.address()->is_v4());
  EXPECT_FALSE(v4.port());
  EXPECT_EQ(v4.port_or(Port::of(80)).value(), 80);

  auto v6 = Authority::parse("[2001:DB8::1]:8080").value();
  ASSERT_NE(v6.address(), nullptr);
  EXPECT_EQ(v6.text(), "[2001:db8::1]:8080");
  EXPECT_EQ(v6.host_text(), "[2001:db8::1]");
}

// input-006: the dot is dropped, so a deny rule for the name sees the name.
TEST(Authority, DropsOneTrailingDot) {
  EXPECT_EQ(Authority::parse("denied.test.:443").value().text(), "denied.test:443");
  EXPECT_FALSE(accepts("denied.test..:443"));
  EXPECT_FALSE(accepts(".:443"));
}

// input-001, input-002, input-004, input-008, input-018
TEST(Authority, DeniesBytesThatOtherParsersReadDifferently) {
  EXPECT_TRUE(accepts("denied.test.allowed.test:443"));
  for (auto text : {"allowed.test@denied.test"s, "allowed.test:443@denied.test:443"s, "@allowed.test"s,
                    "allowed.test\\@denied.test"s, "denied.test\0.allowed.test"s, "denied\xe3\x80\x82test:443"s,
                    "b\xc3\xbc"
                    "cher.test"s,
                    "denied%2etest"s, "allowed.test/"s, "allowed.test?"s, "allowed.test#"s, "allowed test"s,
                    " allowed.test"s, "allowed.test "s, "a,b"s, "*.allowed.test"s, ""s, ":443"s})
    EXPECT_FALSE(accepts(text)) << text;
}

// input-005
TEST(Authority, DeniesEveryByteThatIsNoHostByte) {
  for (int c = 0; c < 256; ++c) {
    std::string text = "denied.test"s + static_cast<char>(c) + ".allowed.test:443";
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    EXPECT_EQ(accepts(text), letter) << c;
  }
}

// input-007
TEST(Authority, DeniesBracketsAroundAnythingButIpv6) {
  EXPECT_TRUE(accepts("[::1]:443"));
  for (const char* text :
       {"[denied.test]:443", "[[denied.test]]:443", "[[::1]]:443", "[127.0.0.1]:443", "[]", "[]:443", "[::1", "::1]",
        "::1", "[::1]443", "[::1]x:443", "[::1].allowed.test", "x[::1]", "[::1]:[::1]"})
    EXPECT_FALSE(accepts(text)) << text;
}

// input-011
TEST(Authority, DeniesLooseIpv4) {
  EXPECT_TRUE(accepts("127.0.0.1:443"));
  for (const char* text :
       {"2130706433:443", "0177.0.0.1:443", "0x7f000001:443", "127.1:443", "127.0.0.01:443", "127.0.0.1.:443",
        "256.0.0.1", "1.2.3.4.5", "1.2.3", "0x7f.1", "allowed.test.1", "allowed.0x1"})
    EXPECT_FALSE(accepts(text)) << text;
}

// input-012: kept as 16 bytes; the classifier sees them, not the text.
TEST(Authority, KeepsMappedAddressesAsIpv6) {
  for (const char* text : {"[::ffff:127.0.0.1]:80", "[::ffff:7f00:1]:80", "[0:0:0:0:0:ffff:7f00:1]:80"}) {
    auto authority = Authority::parse(text);
    ASSERT_TRUE(authority) << text;
    ASSERT_NE(authority.value().address(), nullptr);
    EXPECT_FALSE(authority.value().address()->is_v4());
    EXPECT_EQ(authority.value(), Authority::parse("[::ffff:127.0.0.1]:80").value());
  }
}

// input-014
TEST(Authority, DeniesZoneIdentifiers) {
  EXPECT_TRUE(accepts("[fe80::1]:80"));
  for (const char* text : {"[::1%25.allowed.test]:80", "[fe80::1%eth0]:80", "[fe80::1%25eth0]:80", "[v1.x]:80"})
    EXPECT_FALSE(accepts(text)) << text;
}

// input-016
TEST(Authority, DeniesOddPorts) {
  EXPECT_TRUE(accepts("allowed.test:65535"));
  EXPECT_TRUE(accepts("allowed.test:1"));
  for (const char* port : {"65979", "65536", "-1", "+443", "0443", "443x", "", " 443", "443 ", "0", "4 3", "443:443",
                           "0x1bb", "99999999999999999999"})
    EXPECT_FALSE(accepts("allowed.test:"s + port)) << port;
}

// input-022
TEST(Authority, DeniesNamesThatAreTooLong) {
  std::string label(63, 'a');
  EXPECT_TRUE(accepts(label + ".test"));
  EXPECT_FALSE(accepts(label + "a.test"));
  std::string longest = label + "." + label + "." + label + "." + std::string(61, 'a');
  ASSERT_EQ(longest.size(), 253u);
  EXPECT_TRUE(accepts(longest));
  EXPECT_FALSE(accepts(longest + "a"));
}

TEST(Authority, ComparesWithStandardPort) {
  auto bare = Authority::parse("a.test").value(), with = Authority::parse("A.test:80").value(),
       other = Authority::parse("a.test:81").value();
  EXPECT_TRUE(bare.same_as(with, Port::of(80)));
  EXPECT_FALSE(bare.same_as(with, Port::of(443)));
  EXPECT_FALSE(bare.same_as(other, Port::of(80)));
  EXPECT_FALSE(bare.same_as(Authority::parse("b.test").value(), Port::of(80)));
}

TEST(Authority, KnowsItsOwnSpelling) {
  auto a = Authority::parse("a.test:443").value();
  EXPECT_TRUE(a.is_spelt("a.test:443"));
  for (const char* text : {"a.test", "a.test:44", "a.test:4430", "A.test:443", "a.test:0443", "a.testx:443",
                           "a.test.:443", "a.test:443 ", ""})
    EXPECT_FALSE(a.is_spelt(text)) << text;
  auto bare = Authority::parse("a.test").value();
  EXPECT_TRUE(bare.is_spelt("a.test"));
  EXPECT_FALSE(bare.is_spelt("a.test:80"));
}

TEST(Authority, LeavesStandardPortOutOfHost) {
  auto authority = Authority::parse("a.test:80").value();
  std::string out;
  authority.append_host_field(out, Port::of(80));
  EXPECT_EQ(out, "a.test");
  out.clear();
  authority.append_host_field(out, Port::of(443));
  EXPECT_EQ(out, "a.test:80");
}

}  // namespace
}  // namespace sallyport::http
