// How a probe names itself on the wire to the proxy, in the self-test state only.
//
// TCP: the probe connects, sends the one line
//     SALLYPORT-PROBE <32 hex digits of the nonce> <probe name>\n
// and waits for kProbeAnswer. DNS: an A query for
//     <32 hex digits>-<probe name>.probe.sallyport.internal
// which is answered NXDOMAIN. The proxy records what it read together with the destination that the kernel gave
// (getsockname of the accepted socket, IP_PKTINFO of the query), never a destination that the line claims.
//
// Input of the parsers comes out of the sandbox and is untrusted: while the self-test runs, a task that was there
// before may speak too.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "firewall/api/nonce.h"
#include "firewall/api/probes.h"

namespace sallyport::firewall {

inline constexpr std::size_t kMaxProbeLine = 256;  // bytes the proxy reads at most before it closes
inline constexpr std::string_view kProbeAnswer = "OK\n";
inline constexpr std::string_view kProbeZone = "probe.sallyport.internal";

struct ProbeCall {
  Nonce nonce;
  Probe probe = Probe::kInterfaces;
  friend bool operator==(const ProbeCall&, const ProbeCall&) noexcept = default;
};

// With the ending newline.
std::string probe_line(const ProbeCall& call);
std::string probe_query_name(const ProbeCall& call);

// The line with its newline and nothing after it; kInvalid otherwise. Only probes of kind kTcp are accepted.
Result<ProbeCall> parse_probe_line(std::string_view line);
// A canonical (lower-case, no root dot) query name; kInvalid otherwise. Only probes of kind kDns are accepted.
Result<ProbeCall> parse_probe_query_name(std::string_view name);

}  // namespace sallyport::firewall
