// Probes of what the kernel lists inside the namespace.
#pragma once

#include "firewall/probes/run_probes.h"

namespace sallyport::firewall {

// `probe` is one of kind kStructure.
ProbeOutcome probe_structure(Probe probe, const ProbeContext& context);

}  // namespace sallyport::firewall
