// AddressPolicy: which addresses may be dialled. The last check before connect(2).
//
// Classification is by the bytes of the address, from the IANA IPv4 and IPv6 Special-Purpose Address Registries
// (RFC 6890 and its updates) and RFC 4291; never by text. An IPv6 form that embeds an IPv4 address is its own class and refused as
// such, whatever is inside (input-012, input-013).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ip_address.h"
#include "core/base/result.h"
#include "core/base/units.h"

namespace sallyport::net {

enum class AddressClass : std::uint8_t {
  kPublic,
  kUnspecified,       // 0.0.0.0, ::
  kThisNetwork,       // 0.0.0.0/8
  kLoopback,          // 127.0.0.0/8, ::1
  kPrivate,           // RFC 1918
  kUniqueLocal,       // fc00::/7
  kLinkLocal,         // 169.254.0.0/16, fe80::/10
  kSiteLocal,         // fec0::/10 (deprecated, still private)
  kCgnat,             // 100.64.0.0/10
  kProtocol,          // 192.0.0.0/24, 2001::/23 and other protocol assignments
  kDocumentation,     // 192.0.2.0/24, 198.51.100.0/24, 203.0.113.0/24, 2001:db8::/32, 3fff::/20
  kBenchmark,         // 198.18.0.0/15, 2001:2::/48
  kMulticast,         // 224.0.0.0/4, ff00::/8
  kBroadcast,         // 255.255.255.255
  kReserved,          // 240.0.0.0/4 and all IPv6 outside 2000::/3 that has no other class
  kRelayAnycast,      // 192.88.99.0/24
  kDiscardOnly,       // 100::/64, 100:0:0:1::/64
  kSegmentRouting,    // 5f00::/16
  kV4Mapped,          // ::ffff:0:0/96
  kV4Translated,      // ::ffff:0:0:0/96 (SIIT)
  kV4Compatible,      // ::/96
  kNat64,             // 64:ff9b::/96
  kNat64Local,        // 64:ff9b:1::/48
  k6to4,              // 2002::/16
  kTeredo,            // 2001::/32
  kIsatap,            // any prefix with interface identifier [02]00:5efe:a.b.c.d
  kOwnHost,           // an address of this machine
  kOwnSocket,         // one of Sallyport's own listening sockets (floor)
  kMetadata,          // a cloud's metadata or credential service, in any embedding (floor)
};

// "private", "link-local", "v4-mapped", … Stable: part of reason texts.
std::string_view to_string(AddressClass address_class) noexcept;

// The class by the registries alone: never kOwnHost, kOwnSocket or kMetadata.
AddressClass classify(const IpAddress& address) noexcept;
// The IPv4 address inside a mapped, translated, compatible, NAT64, 6to4, Teredo (the client's) or ISATAP form.
std::optional<IpAddress> embedded_v4(const IpAddress& address) noexcept;
// True for the addresses of the floor and their embedded forms.
bool is_metadata(const IpAddress& address) noexcept;

// An (address, port) that AddressPolicy::check has let pass. Only check makes one, and net::connect takes nothing else, so
// that dialling an unchecked address does not compile. Good for one immediate connect: do not keep it across waits.
class CheckedEndpoint {
 public:
  const IpAddress& address() const noexcept { return address_; }
  Port port() const noexcept { return port_; }

 private:
  friend class AddressPolicy;
  CheckedEndpoint(IpAddress address, Port port) noexcept : address_(address), port_(port) {}
  IpAddress address_;
  Port port_;
};

// One of our listening sockets. The unspecified address stands for every address of this host, of both families.
struct OwnSocket {
  IpAddress address;
  Port port;
};

// Immutable after construction; may be used from any thread. Owns copies of all it is given.
class AddressPolicy {
 public:
  struct Settings {
    std::vector<IpPrefix> permit;         // ranges otherwise refused by class that may be dialled
    std::vector<IpAddress> own_addresses;  // this host's; refused unless permitted. Loopback counts as own always
    std::vector<OwnSocket> own_sockets;    // refused whatever is permitted
  };
  // Everything that is not public is refused.
  AddressPolicy() = default;
  explicit AddressPolicy(Settings settings);

  // kDenied with a text that names the class and, as `code`, the AddressClass. An embedding form that is permitted
  // also needs its inner IPv4 address to be public or permitted. Unspecified, multicast and broadcast
  // addresses are no endpoints and cannot be permitted.
  Result<CheckedEndpoint> check(const IpAddress& address, Port port) const;
  // Whether some port of `address` may be dialled: what the resolver asks of every address in an answer.
  Result<void> check_address(const IpAddress& address) const;

 private:
  bool permitted(const IpAddress& address) const noexcept;
  bool is_own(const IpAddress& address) const noexcept;
  std::optional<AddressClass> refusal(const IpAddress& address) const noexcept;
  bool is_own_socket(const IpAddress& address, Port port) const noexcept;
  Settings settings_;
};

// The class a kDenied Error of AddressPolicy names.
std::optional<AddressClass> refused_class(const Error& error) noexcept;

// The addresses of this host's interfaces (getifaddrs), for Settings::own_addresses. Ask before confinement.
Result<std::vector<IpAddress>> host_addresses();

}  // namespace sallyport::net
