// The interfaces of the namespace the process is in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace sallyport::firewall {

struct Link {
  unsigned index = 0;
  std::string name;  // as the kernel gives it; not escaped
  std::string kind;  // "veth", "ipip", …; empty for lo and for hardware
  bool is_loopback = false;
  bool is_up = false;
  bool reaches_another_namespace = false;  // its other end or its underlay lies elsewhere
};

Result<std::vector<Link>> list_links();

// True for the one real loopback interface.
bool is_lo(const Link& link) noexcept;

// A tunnel device that the kernel itself puts into every new namespace once the module of that tunnel is loaded
// (net.core.fb_tunnels_only_for_init_net = 0): tunl0, gre0, gretap0, erspan0, ip_vti0, ip6_vti0, sit0, ip6tnl0,
// ip6gre0. It cannot be moved, and what it wraps is routed in the same namespace, so there is nothing to
// leave by. It is tolerated only while it is down, and only under its own name, kind and with no end elsewhere: else a
// machine with one of these modules loaded could not attach to anything.
bool is_idle_fallback_tunnel(const Link& link) noexcept;

}  // namespace sallyport::firewall
