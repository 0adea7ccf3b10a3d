// Which processes of a network namespace hold power over it.
#pragma once

#include <sys/types.h>

#include "core/base/result.h"
#include "core/sys/namespaces.h"
#include "core/sys/privileges.h"

namespace sallyport::firewall {

// True if such a process holds CAP_NET_ADMIN or CAP_SYS_ADMIN in any of its sets, or could gain one of them by executing a
// program: the bounding set counts unless no_new_privs is set.
bool has_power(const sys::ProcessCredentials& credentials) noexcept;

// kDenied, naming a process, when one in `netns` whose user namespace is `owner` has power. Looks at every process that /proc
// shows; `pid`, when not 0, must be one of them and in `netns`.
Result<void> check_holders(const sys::NamespaceId& netns, const sys::NamespaceId& owner, pid_t pid);
// Only that `pid` is in `netns`.
Result<void> check_member(const sys::NamespaceId& netns, pid_t pid);

}  // namespace sallyport::firewall
