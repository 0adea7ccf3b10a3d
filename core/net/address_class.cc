#include "core/net/address_class.h"

#include <algorithm>
#include <array>
#include <span>

#include "core/base/metadata_services.h"

namespace sallyport::net {
namespace {

using Class = AddressClass;

struct Row {
  std::array<std::uint8_t, 16> base;  // IPv4 in the first four bytes
  unsigned length;
  Class address_class;
};

// IANA IPv4 Special-Purpose Address Registry, RFC 5771, RFC 1112; longer prefixes before shorter ones that hold them.
// The globally reachable assignments inside 192.0.0.0/24 (PCP and TURN anycast) stay refused: nobody means them by a
// name.
constexpr Row kV4[] = {
    {{0, 0, 0, 0}, 32, Class::kUnspecified},
    {{0}, 8, Class::kThisNetwork},
    {{10}, 8, Class::kPrivate},
    {{100, 64}, 10, Class::kCgnat},
    {{127}, 8, Class::kLoopback},
    {{169, 254}, 16, Class::kLinkLocal},
    {{172, 16}, 12, Class::kPrivate},
    {{192, 0, 0}, 24, Class::kProtocol},
    {{192, 0, 2}, 24, Class::kDocumentation},
    {{192, 31, 196}, 24, Class::kProtocol},  // AS112-v4
    {{192, 52, 193}, 24, Class::kProtocol},  // AMT
    {{192, 88, 99}, 24, Class::kRelayAnycast},
    {{192, 168}, 16, Class::kPrivate},
    {{192, 175, 48}, 24, Class::kProtocol},  // direct delegation AS112
    {{198, 18}, 15, Class::kBenchmark},
    {{198, 51, 100}, 24, Class::kDocumentation},
    {{203, 0, 113}, 24, Class::kDocumentation},
    {{224}, 4, Class::kMulticast},
    {{255, 255, 255, 255}, 32, Class::kBroadcast},
    {{240}, 4, Class::kReserved},
};

// IANA IPv6 Special-Purpose Address Registry and RFC 4291. Outside 2000::/3 nothing is global unicast.
constexpr Row kV6[] = {
    {{}, 128, Class::kUnspecified},
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, Class::kLoopback},
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, Class::kV4Mapped},
    {{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0}, 96, Class::kV4Translated},
    {{}, 96, Class::kV4Compatible},
    {{0x00, 0x64, 0xff, 0x9b}, 96, Class::kNat64},
    {{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, Class::kNat64Local},
    {{0x01, 0x00}, 64, Class::kDiscardOnly},
    {{0x01, 0x00, 0, 0, 0, 0, 0, 1}, 64, Class::kDiscardOnly},
    {{0x20, 0x01, 0x00, 0x00}, 32, Class::kTeredo},
    {{0x20, 0x01, 0x00, 0x02, 0x00, 0x00}, 48, Class::kBenchmark},
    {{0x20, 0x01}, 23, Class::kProtocol},
    {{0x20, 0x01, 0x0d, 0xb8}, 32, Class::kDocumentation},
    {{0x20, 0x02}, 16, Class::k6to4},
    {{0x26, 0x20, 0x00, 0x4f, 0x80, 0x00}, 48, Class::kProtocol},  // direct delegation AS112
    {{0x3f, 0xff, 0x00}, 20, Class::kDocumentation},
    {{0x5f, 0x00}, 16, Class::kSegmentRouting},
    {{0xfc}, 7, Class::kUniqueLocal},
    {{0xfe, 0x80}, 10, Class::kLinkLocal},
    {{0xfe, 0xc0}, 10, Class::kSiteLocal},
    {{0xff}, 8, Class::kMulticast},
};

bool has_prefix(std::span<const std::uint8_t> address, const Row& row) noexcept {
  std::size_t whole = row.length / 8;
  unsigned rest = row.length % 8;
  if (!std::equal(address.begin(), address.begin() + static_cast<std::ptrdiff_t>(whole), row.base.begin()))
    return false;
  if (rest == 0) return true;
  unsigned mask = 0xff00u >> rest;
  return (address[whole] & mask & 0xff) == (row.base[whole] & mask & 0xff);
}

// RFC 5214 section 6.1: ::0:5efe:a.b.c.d, with the universal/local bit set or not, under any prefix.
bool is_isatap(std::span<const std::uint8_t> b) noexcept {
  return (b[8] & 0xfd) == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe;
}

IpAddress v4_at(std::span<const std::uint8_t> b, std::size_t at, std::uint8_t flip = 0) noexcept {
  auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(b[at + i] ^ flip); };
  return IpAddress::v4({byte(0), byte(1), byte(2), byte(3)});
}

}  // namespace

bool is_no_endpoint(Class c) noexcept {
  return c == Class::kUnspecified || c == Class::kMulticast || c == Class::kBroadcast;
}

bool is_embedding(Class c) noexcept {
  switch (c) {
    case Class::kV4Mapped:
    case Class::kV4Translated:
    case Class::kV4Compatible:
    case Class::kNat64:
    case Class::kNat64Local:
    case Class::k6to4:
    case Class::kTeredo:
    case Class::kIsatap:
      return true;
    default:
      return false;
  }
}

std::string_view to_string(AddressClass address_class) noexcept {
  switch (address_class) {
    case Class::kPublic:
      return "public";
    case Class::kUnspecified:
      return "unspecified";
    case Class::kThisNetwork:
      return "this-network";
    case Class::kLoopback:
      return "loopback";
    case Class::kPrivate:
      return "private";
    case Class::kUniqueLocal:
      return "unique-local";
    case Class::kLinkLocal:
      return "link-local";
    case Class::kSiteLocal:
      return "site-local";
    case Class::kCgnat:
      return "carrier-grade-nat";
    case Class::kProtocol:
      return "protocol-assignment";
    case Class::kDocumentation:
      return "documentation";
    case Class::kBenchmark:
      return "benchmark";
    case Class::kMulticast:
      return "multicast";
    case Class::kBroadcast:
      return "broadcast";
    case Class::kReserved:
      return "reserved";
    case Class::kRelayAnycast:
      return "6to4-relay-anycast";
    case Class::kDiscardOnly:
      return "discard-only";
    case Class::kSegmentRouting:
      return "segment-routing";
    case Class::kV4Mapped:
      return "v4-mapped";
    case Class::kV4Translated:
      return "v4-translated";
    case Class::kV4Compatible:
      return "v4-compatible";
    case Class::kNat64:
      return "nat64";
    case Class::kNat64Local:
      return "nat64-local";
    case Class::k6to4:
      return "6to4";
    case Class::kTeredo:
      return "teredo";
    case Class::kIsatap:
      return "isatap";
    case Class::kOwnHost:
      return "own-host";
    case Class::kOwnSocket:
      return "own-socket";
    case Class::kMetadata:
      return "metadata";
  }
  return "unknown";
}

AddressClass classify(const IpAddress& address) noexcept {
  auto b = address.bytes();
  if (address.is_v4()) {
    for (const Row& row : kV4)
      if (has_prefix(b, row)) return row.address_class;
    return Class::kPublic;
  }
  Class found = (b[0] & 0xe0) == 0x20 ? Class::kPublic : Class::kReserved;
  for (const Row& row : kV6) {
    if (!has_prefix(b, row)) continue;
    found = row.address_class;
    break;
  }
  // The interface identifier reaches an IPv4 host under whatever prefix it stands.
  bool other_form = is_embedding(found) || is_no_endpoint(found) || found == Class::kLoopback;
  return is_isatap(b) && !other_form ? Class::kIsatap : found;
}

std::optional<IpAddress> embedded_v4(const IpAddress& address) noexcept {
  switch (classify(address)) {
    case Class::kV4Mapped:
    case Class::kV4Translated:
    case Class::kV4Compatible:
    case Class::kNat64:
    case Class::kNat64Local:
    case Class::kIsatap:
      return v4_at(address.bytes(), 12);
    case Class::k6to4:
      return v4_at(address.bytes(), 2);
    case Class::kTeredo:
      return v4_at(address.bytes(), 12, 0xff);
    default:
      return std::nullopt;
  }
}

bool is_metadata(const IpAddress& address) noexcept {
  if (is_metadata_service(address)) return true;
  auto inner = embedded_v4(address);
  if (inner && is_metadata_service(*inner)) return true;
  auto b = address.bytes();
  switch (classify(address)) {
    // Teredo also names its server, which a relay sends to.
    case Class::kTeredo:
      return is_metadata_service(v4_at(b, 4));
    // A local NAT64 prefix may be longer than 48 bits, and RFC 6052 section 2.2 puts the address elsewhere for each
    // length.
    case Class::kNat64Local:
      return is_metadata_service(IpAddress::v4({b[6], b[7], b[9], b[10]})) ||
             is_metadata_service(IpAddress::v4({b[7], b[9], b[10], b[11]})) || is_metadata_service(v4_at(b, 9));
    default:
      return false;
  }
}

}  // namespace sallyport::net
