// The attach self-test: which ways out are tried from inside the namespace, and what each must come to.
//
// With AnyIP every TCP connect succeeds, so that it succeeds proves nothing. The proof is the proxy's own record of
// the probe's nonce, name and destination; see verify_probes.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/ip_address.h"
#include "core/base/result.h"

namespace sallyport::firewall {

// Stable numbers: they are on the wire between attach and control.
enum class Probe : std::uint8_t {
  kInterfaces = 1,       // only lo (and fallback tunnels of the kernel, down)
  kRoutes = 2,           // exactly the routes attach made, every table, both families
  kRules = 3,            // the default policy-routing rules only
  kRuleset = 4,          // the nftables rules are the ones attach loaded, nothing beside them
  kForeignListener = 5,  // nobody else's socket can receive
  kRawAddress = 6,       // TCP 192.0.2.1:80
  kRawAddressTls = 7,    // TCP 192.0.2.1:443
  kOddPort = 8,          // TCP 192.0.2.1:65535
  kIpv6 = 9,             // TCP [2001:db8::1]:80
  kMetadata = 10,        // TCP 169.254.169.254:80
  kMetadata6 = 11,       // TCP [fd00:ec2::254]:80
  kForeignDnsTcp = 12,   // TCP 192.0.2.53:53
  kForeignDns = 13,      // UDP query to 192.0.2.53:53
  kForeignDns6 = 14,     // UDP query to [2001:db8::53]:53
  kResolver = 15,        // UDP query to the task's resolver, the address after the base of its IPv4 pool
  kUdp = 16,             // UDP to 192.0.2.1:9
  kUdp443 = 17,          // UDP to 192.0.2.1:443 (QUIC)
  kUdp6 = 18,            // UDP to [2001:db8::1]:9
  kIcmp = 19,            // echo request to 192.0.2.1
  kIcmp6 = 20,           // echo request to 2001:db8::1
  kRawIp = 21,           // IP protocol 253 to 192.0.2.1
};
inline constexpr std::size_t kProbeCount = 21;

enum class ProbeKind : std::uint8_t {
  kStructure,  // what the kernel lists inside; must be clean
  kTcp,        // a line sent over TCP; the proxy must have recorded it with this destination
  kDns,        // a query over UDP; likewise
  kRefused,    // a datagram that the kernel must refuse to send, at once
};

// What a probe is and what its failing means. Static; lives as long as the program.
struct ProbeInfo {
  Probe probe;
  ProbeKind kind;
  std::string_view name;  // "raw-address"; a-z, 0-9 and '-', at most 24 bytes
  std::string_view
      destination;        // literal address; empty for kStructure and for kResolver, whose address is the task's own
  std::uint16_t port;     // 0 where there is none
  std::string_view hole;  // what is open when it fails, for an operator
};

// All probes in the order in which attach runs them. A self-test that lacks one of them has failed.
std::span<const ProbeInfo> all_probes() noexcept;
const ProbeInfo& info_of(Probe probe) noexcept;
std::optional<Probe> probe_of(std::string_view name) noexcept;

// What attach saw for one probe. It alone proves nothing: attach runs inside.
enum class ProbeStatus : std::uint8_t {
  kClean = 1,     // kStructure: exactly what should be there
  kAnswered = 2,  // kTcp, kDns: something took it and answered as the proxy does
  kBlocked = 3,   // kRefused: the kernel refused to send it (EPERM or EACCES)
  kFailed = 4,    // anything else
};

struct ProbeOutcome {
  Probe probe = Probe::kInterfaces;
  ProbeStatus status = ProbeStatus::kFailed;
  int error = 0;       // errno value of the failing step, 0: none
  std::string detail;  // one escaped line when it failed; empty otherwise
};

}  // namespace sallyport::firewall
