// ListenerSet: the six sockets by which a task reaches the network, created inside its namespace.
//
// The proxy accepts on them from outside; a connection's task is known from the descriptor it came in on. The
// namespace lives at least as long as one of them. All are non-blocking and close-on-exec, set neither SO_REUSEADDR nor
// SO_REUSEPORT (the task could otherwise bind beside them) and carry explicit buffer sizes, which accepted
// sockets inherit, because the namespace's sysctls are the task's.
#pragma once

#include <cstdint>

#include "core/base/unique_fd.h"

namespace sallyport::firewall {

// Which network namespace, as fstat(2) of its nsfs file tells; `cookie` is SO_NETNS_COOKIE, never used again before a
// reboot.
struct NetnsId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t cookie = 0;
  friend bool operator==(const NetnsId&, const NetnsId&) noexcept = default;
};

struct ListenerSet {
  NetnsId netns;
  UniqueFd proxy4;   // TCP 127.0.0.1:3128, the explicit proxy
  UniqueFd proxy6;   // TCP [::1]:3128
  UniqueFd caught4;  // TCP 0.0.0.0:15001, transparent: getsockname(2) of an accepted socket is the destination that was
                     // meant
  UniqueFd caught6;  // TCP [::]:15001, likewise, V6ONLY
  UniqueFd dns4;     // UDP 0.0.0.0:53; the destination comes by IP_PKTINFO and the reply's source goes by it
  UniqueFd dns6;     // UDP [::]:53, V6ONLY; IPV6_RECVPKTINFO, and IPV6_FREEBIND so that replies may carry any source
};

}  // namespace sallyport::firewall
