// The six sockets of ListenerSet, made in the namespace the process is in.
#pragma once

#include "core/base/result.h"
#include "firewall/api/listener_set.h"

namespace sallyport::firewall {

inline constexpr int kListenBacklog = 4096;  // cut by the namespace's net.core.somaxconn
inline constexpr int kListenerBufferBytes =
    128 << 10;  // of each direction; the kernel doubles it; accepted sockets inherit it

// The set's `netns` is left empty. Needs CAP_NET_ADMIN (transparent) and CAP_NET_BIND_SERVICE (port 53). kDenied when a
// port is taken.
Result<ListenerSet> make_listeners();

}  // namespace sallyport::firewall
