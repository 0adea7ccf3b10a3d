// check_unused: whether somebody has been at work in the namespace before us.
#pragma once

#include "core/base/result.h"
#include "firewall/inspect/packet_filters.h"

namespace sallyport::firewall {

// kDenied, and what there is, when the namespace the process is in has an interface beyond lo (idle fallback tunnels of
// the kernel excepted), an address or a route that a loopback interface does not have by itself, a policy-routing rule
// beyond the default ones, a packet filter of any family, or an Internet or packet socket. kUnavailable when one of
// these cannot be listed.
Result<void> check_unused(UnreadableLegacy unreadable);

}  // namespace sallyport::firewall
