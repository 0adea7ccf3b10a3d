// Entering the namespace, with no more power than the work needs.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "firewall/attach/identify.h"

namespace sallyport::firewall {

// Before anything else: nothing that is executed gains power, and no process of the same user, inside or outside, can
// look into this one once it has entered.
Result<void> shield_process();

// Enters the owner's user namespace when it is not ours (as root: less power), then the network namespace. `channel`
// tells control's namespace: the target must be neither that nor the one left, by their cookies, which are never used
// twice. Returns the target's cookie. The process must have one thread.
Result<std::uint64_t> enter(const Target& target, int channel);

// Keeps CAP_NET_ADMIN (addresses, rules, transparent sockets), CAP_NET_BIND_SERVICE (port 53) and CAP_NET_RAW (the
// probes that try ICMP and other protocols), over the namespace's owner, and nothing else.
Result<void> keep_network_capabilities();

// From here on only what the rest of the work calls: sockets, netlink, reading files. No program can be executed, no
// process made, no namespace entered or left.
Result<void> install_syscall_filter();

}  // namespace sallyport::firewall
