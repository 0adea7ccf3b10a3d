// Whose namespace it is that we were given: the checks before it is entered.
#pragma once

#include <sys/types.h>

#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/sys/namespaces.h"

namespace sallyport::firewall {

struct Target {
  sys::Namespace netns;
  sys::Namespace owner;  // the user namespace that owns it
  bool owner_is_ours;    // the one we are in, or the initial one
};

// Refuses (kDenied, with what to do) a namespace that is ours or pid 1's; one whose owner lies outside our user namespace; a
// pid that is not in it; and, when its owner is the initial user namespace or ours, one with a process that holds or
// can regain CAP_NET_ADMIN or CAP_SYS_ADMIN: such a task could undo what attach does, push an interface in, or leave.
// In a namespace that another user namespace owns these capabilities reach nothing outside and are no reason to refuse.
// `pid` is 0 when none is known.
Result<Target> identify(UniqueFd netns, pid_t pid);

}  // namespace sallyport::firewall
