#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/escape.h"
#include "core/base/host_name.h"
#include "core/base/ids.h"
#include "core/base/ip_address.h"
#include "core/base/units.h"

namespace sallyport {
namespace {

TEST(HostName, IsCanonicalWhateverItsCaseAndRootDot) {
  EXPECT_EQ(HostName::parse("DeNiEd.TeSt.").value(), HostName::parse("denied.test").value());  // dns-015, input-006
  EXPECT_EQ(HostName::parse("xn--bcher-kva.test").value().text(), "xn--bcher-kva.test");       // input-009
}

TEST(HostName, RefusesEveryByteThatIsNotAHostByte) {
  for (int byte = 0; byte < 256; ++byte) {  // input-004, input-005, input-008, input-018
    auto c = static_cast<char>(byte);
    std::string name = std::string("denied.t") + c + "t.test";
    bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    EXPECT_EQ(HostName::parse(name).has_value(), fine) << byte;
  }
}

TEST(HostName, RefusesWhatSomeResolverReadsAsAnAddress) {  // input-011
  for (auto text : {"2130706433", "0177.0.0.1", "0x7f000001", "127.1", "127.0.0.01", "1.2.3.4", "a.0x7f", "0X7F.1"})
    EXPECT_FALSE(HostName::parse(text)) << text;
  EXPECT_TRUE(HostName::parse("1.2.3.com"));
  EXPECT_TRUE(HostName::parse("0x7g.test"));
}

TEST(HostName, RefusesEmptyAndOverlongParts) {  // input-022
  for (auto text : {"", ".", "a..b", ".a", "a..", "-a.test", "a-.test"}) EXPECT_FALSE(HostName::parse(text)) << text;
  EXPECT_TRUE(HostName::parse(std::string(63, 'a') + ".test"));
  EXPECT_FALSE(HostName::parse(std::string(64, 'a') + ".test"));
  std::string longest;
  for (int i = 0; i < 126; ++i) longest += "a.";
  EXPECT_TRUE(HostName::parse(longest + "b"));
  EXPECT_FALSE(HostName::parse(longest + "bb"));
}

TEST(HostName, BelowNeedsALabelBoundary) {  // input-019, input-020
  auto apex = HostName::parse("allowed.test").value();
  EXPECT_TRUE(HostName::parse("a.b.allowed.test").value().is_below(apex));
  for (auto text : {"allowed.test", "notallowed.test", "allowed.test.denied.test"})
    EXPECT_FALSE(HostName::parse(text).value().is_below(apex)) << text;
}

TEST(Port, TakesOnlyPlainDecimal) {  // input-016
  EXPECT_EQ(Port::parse("443").value().value(), 443);
  EXPECT_EQ(Port::parse("65535").value().value(), 65535);
  for (auto text : {"65979", "-1", "+443", "0443", "443x", "", " 443", "0", "65536", "4294967739"})
    EXPECT_FALSE(Port::parse(text)) << text;
}

TEST(IpAddress, TakesOnlyTheStrictForms) {
  EXPECT_EQ(IpAddress::parse("127.0.0.1").value().text(), "127.0.0.1");
  EXPECT_EQ(IpAddress::parse("2001:DB8:0:0::1").value().text(), "2001:db8::1");
  for (auto text : {"127.0.0.01", "127.1", "0x7f.0.0.1", "1.2.3.4.5", "1.2.3.", "256.1.1.1", "[::1]", "::1%lo", "::1%25eth0", "", ":"})
    EXPECT_FALSE(IpAddress::parse(text)) << text;  // input-014
}

TEST(IpPrefix, HasExactEdges) {
  auto cgnat = IpPrefix::parse("100.64.0.0/10").value();
  EXPECT_FALSE(cgnat.contains(IpAddress::parse("100.63.255.255").value()));
  EXPECT_TRUE(cgnat.contains(IpAddress::parse("100.64.0.0").value()));
  EXPECT_TRUE(cgnat.contains(IpAddress::parse("100.127.255.255").value()));
  EXPECT_FALSE(cgnat.contains(IpAddress::parse("100.128.0.0").value()));
  EXPECT_FALSE(IpPrefix::parse("10.0.0.1/8"));
  EXPECT_FALSE(IpPrefix::parse("10.0.0.0/33"));
  EXPECT_TRUE(IpPrefix::parse("::/0").value().contains(IpAddress::parse("2001:db8::1").value()));
  EXPECT_FALSE(IpPrefix::parse("::/0").value().contains(IpAddress::parse("1.2.3.4").value()));
}

TEST(Escape, LeavesNoControlByteAndStaysJson) {  // lifecycle-008
  EXPECT_EQ(escape_text("a\x1b[31m\n\\"), "a\\x1b[31m\\x0a\\\\");
  EXPECT_EQ(escape_text(std::string(600, 'a')).size(), 515u);
  EXPECT_EQ(escape_json("\",\"allow\":true\n"), "\\\",\\\"allow\\\":true\\u000a");
  EXPECT_EQ(escape_json("\xc3\xa9 \xf0\x9f\x98\x80"), "\\u00e9 \\ud83d\\ude00");
  EXPECT_EQ(escape_json("\xc0\xae\xed\xa0\x80"), "\\\\xc0\\\\xae\\\\xed\\\\xa0\\\\x80");
}

TEST(TaskId, IsSafeEverywhere) {
  EXPECT_TRUE(TaskId::parse("catalog-3"));
  for (auto text : {"", "-a", "a/b", "A", "a\n"}) EXPECT_FALSE(TaskId::parse(text));
  EXPECT_NE(TaskId::random(), TaskId::random());
}

}  // namespace
}  // namespace sallyport
