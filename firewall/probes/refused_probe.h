// Probes that must not be able to send: UDP, QUIC, ICMP, other IP protocols.
#pragma once

#include "firewall/api/probes.h"

namespace sallyport::firewall {

// `probe` is one of kind kRefused. Returns at once: a datagram that is not refused in the call itself counts as sent.
ProbeOutcome probe_refused(Probe probe);

}  // namespace sallyport::firewall
