// verify_probes: the verdict on a self-test. Pure.
//
// What attach reports comes from inside the namespace, and an impostor there (a foreign listener) or a real host
// outside can answer a probe. So a TCP or DNS probe has passed only if the *proxy* recorded this self-test's nonce with
// exactly the probe's name and destination, and attach saw it answered.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/ip_address.h"
#include "firewall/api/nonce.h"
#include "firewall/api/probes.h"

namespace sallyport::firewall {

// One probe as the proxy received it. Trusted as far as the proxy is.
struct ProbeRecord {
  Nonce nonce;
  Probe probe = Probe::kInterfaces;
  IpAddress destination = IpAddress::v4({});  // from getsockname(2) or IP_PKTINFO
  std::uint16_t port = 0;
};

struct ProbeFailure {
  Probe probe = Probe::kInterfaces;
  std::string detail;  // "udp: a datagram could be sent (…)"; begins with the probe's name; one escaped line
};

struct ExpectedProbes {
  Nonce nonce;
  IpAddress resolver4 = IpAddress::v4({});  // what the task's resolv.conf names: base of the IPv4 pool + 1
};

// Empty: passed. Every probe of all_probes() must be in `reported` once and with the outcome its kind requires. Records
// with another nonce are ignored; a record with this nonce and a wrong destination is a failure.
std::vector<ProbeFailure> verify_probes(const ExpectedProbes& expected, std::span<const ProbeOutcome> reported,
                                        std::span<const ProbeRecord> recorded);

// One line for an operator: "self-test failed: udp: …; routes: …".
std::string describe(std::span<const ProbeFailure> failures);

}  // namespace sallyport::firewall
