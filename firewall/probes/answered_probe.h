// Probes that the proxy must take and answer: TCP to any address, DNS to any address.
#pragma once

#include <span>
#include <vector>

#include "firewall/probes/run_probes.h"

namespace sallyport::firewall {

// All at once, up to the deadline of `context`; one outcome each, in the order of `probes`.
std::vector<ProbeOutcome> probe_answered(std::span<const Probe> probes, const ProbeContext& context);

}  // namespace sallyport::firewall
