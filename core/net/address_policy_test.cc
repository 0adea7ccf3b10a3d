#include "core/net/address_policy.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sallyport::net {
namespace {

using Class = AddressClass;

IpAddress ip(std::string_view text) {
  auto parsed = IpAddress::parse(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed.value();
}
IpPrefix range(std::string_view text) { return IpPrefix::parse(text).value(); }

Class class_of(std::string_view text) { return classify(ip(text)); }

// The address before or after, wrapping not needed by the tests.
IpAddress step(const IpAddress& address, int by) {
  std::array<std::uint8_t, 16> b{};
  std::ranges::copy(address.bytes(), b.begin());
  for (std::size_t i = address.bytes().size(); i-- > 0;) {
    b[i] = static_cast<std::uint8_t>(b[i] + by);
    if (b[i] != (by > 0 ? 0x00 : 0xff)) break;
  }
  return address.is_v4() ? IpAddress::v4({b[0], b[1], b[2], b[3]}) : IpAddress::v6(b);
}
IpAddress last_of(const IpPrefix& prefix) {
  std::array<std::uint8_t, 16> b{};
  std::ranges::copy(prefix.base().bytes(), b.begin());
  for (unsigned bit = prefix.length(); bit < prefix.base().bytes().size() * 8; ++bit)
    b[bit / 8] = static_cast<std::uint8_t>(b[bit / 8] | (0x80u >> (bit % 8)));
  return prefix.base().is_v4() ? IpAddress::v4({b[0], b[1], b[2], b[3]}) : IpAddress::v6(b);
}

struct Range {
  const char* prefix;
  Class inside, before, after;  // `before` and `after` are the neighbours' classes; kPublic where none
};

// Every entry of both registries, written again here from the registries' text, not from the table under test.
constexpr Range kRanges[] = {
    {"0.0.0.0/8", Class::kThisNetwork, Class::kPublic, Class::kPublic},
    {"10.0.0.0/8", Class::kPrivate, Class::kPublic, Class::kPublic},
    {"100.64.0.0/10", Class::kCgnat, Class::kPublic, Class::kPublic},
    {"127.0.0.0/8", Class::kLoopback, Class::kPublic, Class::kPublic},
    {"169.254.0.0/16", Class::kLinkLocal, Class::kPublic, Class::kPublic},
    {"172.16.0.0/12", Class::kPrivate, Class::kPublic, Class::kPublic},
    {"192.0.0.0/24", Class::kProtocol, Class::kPublic, Class::kPublic},
    {"192.0.2.0/24", Class::kDocumentation, Class::kPublic, Class::kPublic},
    {"192.31.196.0/24", Class::kProtocol, Class::kPublic, Class::kPublic},
    {"192.52.193.0/24", Class::kProtocol, Class::kPublic, Class::kPublic},
    {"192.88.99.0/24", Class::kRelayAnycast, Class::kPublic, Class::kPublic},
    {"192.168.0.0/16", Class::kPrivate, Class::kPublic, Class::kPublic},
    {"192.175.48.0/24", Class::kProtocol, Class::kPublic, Class::kPublic},
    {"198.18.0.0/15", Class::kBenchmark, Class::kPublic, Class::kPublic},
    {"198.51.100.0/24", Class::kDocumentation, Class::kPublic, Class::kPublic},
    {"203.0.113.0/24", Class::kDocumentation, Class::kPublic, Class::kPublic},
    {"224.0.0.0/4", Class::kMulticast, Class::kPublic, Class::kReserved},
    {"255.255.255.255/32", Class::kBroadcast, Class::kReserved, Class::kPublic},
    {"::1/128", Class::kLoopback, Class::kUnspecified, Class::kV4Compatible},
    {"::ffff:0:0/96", Class::kV4Mapped, Class::kReserved, Class::kReserved},
    {"::ffff:0:0:0/96", Class::kV4Translated, Class::kReserved, Class::kReserved},
    {"64:ff9b::/96", Class::kNat64, Class::kReserved, Class::kReserved},
    {"64:ff9b:1::/48", Class::kNat64Local, Class::kReserved, Class::kReserved},
    {"100::/64", Class::kDiscardOnly, Class::kReserved, Class::kDiscardOnly /* 100:0:0:1:: */},
    {"100:0:0:1::/64", Class::kDiscardOnly, Class::kDiscardOnly, Class::kReserved},
    {"2001::/32", Class::kTeredo, Class::kPublic, Class::kProtocol},
    {"2001:2::/48", Class::kBenchmark, Class::kProtocol, Class::kProtocol},
    {"2001:10::/28", Class::kProtocol, Class::kProtocol, Class::kProtocol},  // ORCHID
    {"2001:20::/28", Class::kProtocol, Class::kProtocol, Class::kProtocol},  // ORCHIDv2
    {"2001:30::/28", Class::kProtocol, Class::kProtocol, Class::kProtocol},  // drone remote id
    {"2001:1f0::/28", Class::kProtocol, Class::kProtocol, Class::kPublic},   // the end of 2001::/23
    {"2001:db8::/32", Class::kDocumentation, Class::kPublic, Class::kPublic},
    {"2002::/16", Class::k6to4, Class::kPublic, Class::kPublic},
    {"2620:4f:8000::/48", Class::kProtocol, Class::kPublic, Class::kPublic},
    {"3fff::/20", Class::kDocumentation, Class::kPublic, Class::kPublic},
    {"4000::/3", Class::kReserved, Class::kPublic, Class::kReserved},  // the end of 2000::/3
    {"5f00::/16", Class::kSegmentRouting, Class::kReserved, Class::kReserved},
    {"fc00::/7", Class::kUniqueLocal, Class::kReserved, Class::kReserved},
    {"fe80::/10", Class::kLinkLocal, Class::kReserved, Class::kSiteLocal},
    {"fec0::/10", Class::kSiteLocal, Class::kLinkLocal, Class::kMulticast},
    {"ff00::/8", Class::kMulticast, Class::kSiteLocal, Class::kPublic},
};

// input-015
TEST(AddressClassification, KnowsEveryRegisteredRangeAndItsNeighbours) {
  for (const Range& row : kRanges) {
    auto prefix = range(row.prefix);
    auto first = prefix.base(), last = last_of(prefix);
    // The first of 0/8 has a class of its own; 255.255.255.255 and the last of ff00::/8 have nothing after.
    if (std::string_view(row.prefix) != "0.0.0.0/8") {
      EXPECT_EQ(classify(first), row.inside) << row.prefix << " first";
      EXPECT_EQ(classify(step(first, -1)), row.before) << row.prefix << " before";
    } else {
      EXPECT_EQ(classify(first), Class::kUnspecified);
      EXPECT_EQ(classify(step(first, 1)), Class::kThisNetwork);
    }
    EXPECT_EQ(classify(last), row.inside) << row.prefix << " last";
    bool at_the_end =
        std::string_view(row.prefix) == "255.255.255.255/32" || std::string_view(row.prefix) == "ff00::/8";
    if (!at_the_end) {
      EXPECT_EQ(classify(step(last, 1)), row.after) << row.prefix << " after";
    }
  }
}

// The entries that lie inside wider ones above, too: both registries whole, as of 2025. What the registry calls globally
// reachable (the anycast addresses of 192.0.0.0/24 and 2001:1::/32, AMT, AS112) is refused all the same.
TEST(AddressPolicy, DeniesBothEndsOfEveryRegistryEntry) {
  for (auto text : {"0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
                    "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32",
                    "192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.88.99.2/32",
                    "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
                    "255.255.255.255/32", "224.0.0.0/4", "::1/128", "::/128", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48",
                    "100::/64", "100:0:0:1::/64", "2001::/23", "2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128",
                    "2001:2::/48", "2001:3::/32", "2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28",
                    "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10",
                    "fec0::/10", "ff00::/8"}) {
    auto prefix = range(text);
    EXPECT_FALSE(AddressPolicy().check_address(prefix.base())) << text;
    EXPECT_FALSE(AddressPolicy().check_address(last_of(prefix))) << text;
  }
}

TEST(AddressClassification, FindsOrdinaryAddressesPublic) {
  for (auto text : {"1.1.1.1", "8.8.8.8", "9.255.255.255", "100.63.255.255", "100.128.0.0", "223.255.255.255",
                    "2000::1", "2606:4700::1111", "2a00:1450:4001::200e", "3ffe::1"})
    EXPECT_EQ(class_of(text), Class::kPublic) << text;
}

// input-015, literally
TEST(AddressClassification, DeniesTheEdgesOfTheCatalogue) {
  for (auto text : {"100.64.0.0", "100.127.255.255", "198.18.0.0", "224.0.0.1", "240.0.0.1", "255.255.255.255",
                    "0.1.2.3", "fc00::1", "fe80::1", "fec0::1", "ff02::1", "100::1"}) {
    auto denied = AddressPolicy().check(ip(text), Port::of(80));
    ASSERT_FALSE(denied) << text;
    EXPECT_EQ(denied.error().kind, ErrorKind::kDenied);
    EXPECT_NE(denied.error().detail.find(to_string(class_of(text))), std::string::npos) << denied.error().detail;
  }
}

// input-012, input-013
TEST(AddressClassification, SeesFormsThatEmbedIpv4) {
  struct {
    const char* text;
    Class expected;
    const char* inner;
  } cases[] = {
      {"::ffff:127.0.0.1", Class::kV4Mapped, "127.0.0.1"},
      {"::ffff:7f00:1", Class::kV4Mapped, "127.0.0.1"},
      {"0:0:0:0:0:ffff:a9fe:a9fe", Class::kV4Mapped, "169.254.169.254"},
      {"64:ff9b::a9fe:a9fe", Class::kNat64, "169.254.169.254"},
      {"64:ff9b::808:808", Class::kNat64, "8.8.8.8"},
      {"64:ff9b:1::a00:1", Class::kNat64Local, "10.0.0.1"},
      {"2002:a00:1::1", Class::k6to4, "10.0.0.1"},
      {"2001:0:1234::1", Class::kTeredo, "255.255.255.254"},
      {"::a00:1", Class::kV4Compatible, "10.0.0.1"},
      {"::ffff:0:7f00:1", Class::kV4Translated, "127.0.0.1"},
      {"2a00:1450::5efe:a00:1", Class::kIsatap, "10.0.0.1"},
      {"2a00:1450::200:5efe:a00:1", Class::kIsatap, "10.0.0.1"},
      {"fe80::5efe:a00:1", Class::kIsatap, "10.0.0.1"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(class_of(c.text), c.expected) << c.text;
    ASSERT_TRUE(embedded_v4(ip(c.text))) << c.text;
    EXPECT_EQ(embedded_v4(ip(c.text))->text(), c.inner) << c.text;
    EXPECT_FALSE(AddressPolicy().check(ip(c.text), Port::of(80))) << c.text;
  }
  EXPECT_FALSE(embedded_v4(ip("2606:4700::1111")));
}

TEST(AddressPolicy, LetsAPublicAddressPassUnchanged) {
  auto checked = AddressPolicy().check(ip("2606:4700::1111"), Port::of(443));
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked.value().address(), ip("2606:4700::1111"));
  EXPECT_EQ(checked.value().port(), Port::of(443));
}

// dns-011
TEST(AddressPolicy, DeniesWhatAnAllowedNameMustNotPointTo) {
  struct {
    const char* text;
    const char* named;
  } cases[] = {{"10.0.0.5", "private"},
               {"169.254.169.254", "metadata"},
               {"127.0.0.1", "loopback"},
               {"100.64.0.1", "carrier-grade-nat"},
               {"0.0.0.0", "unspecified"}};
  for (const auto& c : cases) {
    auto denied = AddressPolicy().check_address(ip(c.text));
    ASSERT_FALSE(denied) << c.text;
    EXPECT_NE(denied.error().detail.find(c.named), std::string::npos) << denied.error().detail;
  }
  EXPECT_TRUE(AddressPolicy().check_address(ip("8.8.8.8")));
}

TEST(AddressPolicy, PermitOpensExactlyItsRange) {
  AddressPolicy policy({.permit = {range("10.1.0.0/16"), range("fd12::/16")}, .own_addresses = {}, .own_sockets = {}});
  EXPECT_TRUE(policy.check(ip("10.1.255.255"), Port::of(80)));
  EXPECT_TRUE(policy.check(ip("fd12::5"), Port::of(80)));
  EXPECT_FALSE(policy.check(ip("10.2.0.0"), Port::of(80)));
  EXPECT_FALSE(policy.check(ip("10.0.255.255"), Port::of(80)));
  EXPECT_FALSE(policy.check(ip("::ffff:10.1.0.1"), Port::of(80)));
  auto denied = policy.check(ip("10.2.0.0"), Port::of(80));
  EXPECT_EQ(refused_class(denied.error()), Class::kPrivate);
}

TEST(AddressPolicy, PermittedEmbeddingStillNeedsItsInnerAddress) {
  AddressPolicy nat64({.permit = {range("64:ff9b::/96")}, .own_addresses = {}, .own_sockets = {}});
  EXPECT_TRUE(nat64.check(ip("64:ff9b::808:808"), Port::of(80)));
  auto denied = nat64.check(ip("64:ff9b::a00:1"), Port::of(80));
  ASSERT_FALSE(denied);
  EXPECT_EQ(refused_class(denied.error()), Class::kPrivate);
  AddressPolicy both({.permit = {range("64:ff9b::/96"), range("10.0.0.0/8")}, .own_addresses = {}, .own_sockets = {}});
  EXPECT_TRUE(both.check(ip("64:ff9b::a00:1"), Port::of(80)));
  EXPECT_FALSE(both.check(ip("64:ff9b::7f00:1"), Port::of(80)));
}

TEST(AddressPolicy, FloorIsNotOpenedByPermittingEverything) {
  AddressPolicy all({.permit = {range("0.0.0.0/0"), range("::/0")}, .own_addresses = {}, .own_sockets = {}});
  for (auto text : {"169.254.169.254",
                    "169.254.170.2",
                    "169.254.170.23",
                    "100.100.100.200",
                    "168.63.129.16",
                    "192.0.0.192",
                    "fd00:ec2::254",
                    "fd20:ce::254",
                    "::ffff:169.254.169.254",
                    "::169.254.169.254",
                    "::ffff:0:169.254.169.254",
                    "64:ff9b::169.254.169.254",
                    "64:ff9b:1::169.254.169.254",
                    "64:ff9b:1:a9fe:a9:fe00::",
                    "64:ff9b:1:a9:fe:a9fe::",
                    "64:ff9b:1:0:a9:fea9:fe00::",
                    "2002:a9fe:a9fe::1",
                    "2001:0:1:1::5601:5601",
                    "2001:0:a9fe:a9fe::1",
                    "2a00::5efe:a9fe:a9fe",
                    "2001:db8::5efe:a9fe:a9fe"}) {
    auto denied = all.check(ip(text), Port::of(80));
    ASSERT_FALSE(denied) << text;
    EXPECT_EQ(refused_class(denied.error()), Class::kMetadata) << text;
  }
  for (auto text : {"0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "::ffff:0.0.0.0", "::ffff:224.0.0.1"})
    EXPECT_FALSE(all.check(ip(text), Port::of(80))) << text;
  // Controls: the neighbours are open, and so is all else.
  for (auto text : {"169.254.169.255", "100.100.100.201", "168.63.129.17", "fd00:ec2::255", "127.0.0.1", "10.0.0.1",
                    "::1", "64:ff9b::a00:1"})
    EXPECT_TRUE(all.check(ip(text), Port::of(80))) << text;
}

TEST(AddressPolicy, OwnSocketsCannotBePermitted) {
  AddressPolicy policy({.permit = {range("0.0.0.0/0"), range("::/0")},
                        .own_addresses = {ip("192.168.7.9"), ip("2a00:1::9")},
                        .own_sockets = {{ip("127.0.0.1"), Port::of(3128)}, {ip("0.0.0.0"), Port::of(9100)}}});
  for (auto text : {"127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"}) {
    auto denied = policy.check(ip(text), Port::of(3128));
    ASSERT_FALSE(denied) << text;
    EXPECT_EQ(refused_class(denied.error()), Class::kOwnSocket);
  }
  EXPECT_TRUE(policy.check(ip("127.0.0.2"), Port::of(3128)));
  EXPECT_TRUE(policy.check(ip("127.0.0.1"), Port::of(3129)));
  // A wildcard listener answers on every address of the host, of both families.
  for (auto text : {"127.0.0.1", "127.9.9.9", "::1", "192.168.7.9", "::ffff:192.168.7.9", "2a00:1::9"})
    EXPECT_FALSE(policy.check(ip(text), Port::of(9100))) << text;
  EXPECT_TRUE(policy.check(ip("192.168.7.10"), Port::of(9100)));
}

TEST(AddressPolicy, OwnPublicAddressNeedsPermission) {
  std::vector<IpAddress> own = {ip("198.41.0.4")};
  AddressPolicy strict({.permit = {}, .own_addresses = own, .own_sockets = {}});
  auto denied = strict.check(ip("198.41.0.4"), Port::of(443));
  ASSERT_FALSE(denied);
  EXPECT_EQ(refused_class(denied.error()), Class::kOwnHost);
  EXPECT_TRUE(strict.check(ip("198.41.0.5"), Port::of(443)));
  AddressPolicy open({.permit = {range("198.41.0.4")}, .own_addresses = own, .own_sockets = {}});
  EXPECT_TRUE(open.check(ip("198.41.0.4"), Port::of(443)));
}

TEST(AddressPolicy, DeniesPortZero) { EXPECT_FALSE(AddressPolicy().check(ip("8.8.8.8"), Port::of(0))); }

TEST(HostAddresses, HoldLoopback) {
  auto own = host_addresses();
  ASSERT_TRUE(own);
  EXPECT_NE(std::ranges::find(own.value(), ip("127.0.0.1")), own.value().end());
}

}  // namespace
}  // namespace sallyport::net
