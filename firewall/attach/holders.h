// Which processes of a network namespace hold power over it.
#pragma once

#include <sys/types.h>

#include "core/base/result.h"
#include "core/sys/namespaces.h"
#include "core/sys/privileges.h"

namespace sallyport::firewall {

// True if such a process holds CAP_NET_ADMIN or CAP_SYS_ADMIN in any of its sets, or could gain one of them by
// executing a program: the bounding set counts unless no_new_privs is set.
bool has_power(const sys::ProcessCredentials& credentials) noexcept;

// All of these are about the network namespace that the process is in. Who is in it is told by the inode of
// /proc/PID/net/dev, which is another one in each namespace and, unlike /proc/PID/ns/net, may be looked at whatever the
// process is.

// kDenied if pid 1 is in it: it is the machine's own.
Result<void> check_not_of_pid1();
// kDenied if `pid` is not in it, or not to be seen.
Result<void> check_member(pid_t pid);
// kDenied, naming a process, when one that is in it has power over it. `owner` is the user namespace that owns it: in
// one below, capabilities do not count. Looks at every process that /proc shows.
Result<void> check_holders(const sys::NamespaceId& owner);

}  // namespace sallyport::firewall
