// The addresses and routes of a task's namespace: lo up, one address of each family, and AnyIP routes that deliver
// every address locally.
#pragma once

#include "core/base/result.h"

namespace sallyport::firewall {

// Configures the namespace the process is in, which must hold nothing yet. Needs CAP_NET_ADMIN over it. IPv6 that is
// switched off by sysctl is switched on; where that is not possible, or the kernel has no IPv6, the result is
// kUnavailable: a family that is not ours to catch is refused, never left open or assumed absent.
Result<void> configure_addresses();

// Success if the namespace has exactly the routes that configure_addresses makes. kDenied and what differs otherwise.
Result<void> check_routes();
// Success if there is no interface but lo and idle fallback tunnels; kDenied and the interface otherwise.
Result<void> check_interfaces();
// Success if policy routing is as the namespace was born.
Result<void> check_rules();

}  // namespace sallyport::firewall
