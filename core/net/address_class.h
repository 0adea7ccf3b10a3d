// AddressClass: what kind of address an address is.
//
// By the bytes of the address, never by text, from the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890
// and its updates) and RFC 4291. An IPv6 form that embeds an IPv4 address is a class of its own (input-012, input-013).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/ip_address.h"

namespace sallyport::net {

enum class AddressClass : std::uint8_t {
  kPublic,
  kUnspecified,     // 0.0.0.0, ::
  kThisNetwork,     // 0.0.0.0/8
  kLoopback,        // 127.0.0.0/8, ::1
  kPrivate,         // RFC 1918
  kUniqueLocal,     // fc00::/7
  kLinkLocal,       // 169.254.0.0/16, fe80::/10
  kSiteLocal,       // fec0::/10 (deprecated, still private)
  kCgnat,           // 100.64.0.0/10
  kProtocol,        // 192.0.0.0/24, 2001::/23 and other protocol assignments
  kDocumentation,   // 192.0.2.0/24, 198.51.100.0/24, 203.0.113.0/24, 2001:db8::/32, 3fff::/20
  kBenchmark,       // 198.18.0.0/15, 2001:2::/48
  kMulticast,       // 224.0.0.0/4, ff00::/8
  kBroadcast,       // 255.255.255.255
  kReserved,        // 240.0.0.0/4 and all IPv6 outside 2000::/3 that has no other class
  kRelayAnycast,    // 192.88.99.0/24
  kDiscardOnly,     // 100::/64, 100:0:0:1::/64
  kSegmentRouting,  // 5f00::/16
  kV4Mapped,        // ::ffff:0:0/96
  kV4Translated,    // ::ffff:0:0:0/96 (SIIT)
  kV4Compatible,    // ::/96
  kNat64,           // 64:ff9b::/96
  kNat64Local,      // 64:ff9b:1::/48
  k6to4,            // 2002::/16
  kTeredo,          // 2001::/32
  kIsatap,          // any prefix with interface identifier [02]00:5efe:a.b.c.d
  kOwnHost,         // an address of this machine
  kOwnSocket,       // one of Sallyport's own listening sockets (floor)
  kMetadata,        // a cloud's metadata or credential service, in any embedding (floor)
};

// "private", "link-local", "v4-mapped", … Stable: part of reason texts.
std::string_view to_string(AddressClass address_class) noexcept;

// The class by the registries alone: never kOwnHost, kOwnSocket or kMetadata.
AddressClass classify(const IpAddress& address) noexcept;
// The IPv4 address inside a mapped, translated, compatible, NAT64, 6to4, Teredo (the client's) or ISATAP form.
std::optional<IpAddress> embedded_v4(const IpAddress& address) noexcept;
// True for the addresses of the floor and their embedded forms.
bool is_metadata(const IpAddress& address) noexcept;
// True for the classes whose addresses hold an IPv4 address: embedded_v4 gives it.
bool is_embedding(AddressClass address_class) noexcept;
// True for classes that are nobody's: no connection has such an address at its other end, and 0.0.0.0 and :: are this
// host.
bool is_no_endpoint(AddressClass address_class) noexcept;

}  // namespace sallyport::net
