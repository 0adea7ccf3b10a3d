// The attach self-test, run from inside the namespace that is tested.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/ip_address.h"
#include "firewall/api/nonce.h"
#include "firewall/api/probes.h"
#include "firewall/ruleset/load_ruleset.h"

namespace sallyport::firewall {

struct ProbeContext {
  Nonce nonce;
  IpAddress resolver4;  // base of the task's IPv4 pool + 1
  LoadedRuleset ruleset;
  std::vector<std::uint64_t> own_sockets;  // inodes of our listeners
  Deadline deadline = Deadline::never();   // for all probes together
};

// Exactly one outcome per probe of all_probes(), in that order. Needs CAP_NET_RAW for the probes that send ICMP and
// other IP protocols: without it they fail, for then nothing is known of what a task that has it could send.
std::vector<ProbeOutcome> run_probes(const ProbeContext& context);

}  // namespace sallyport::firewall
