// Whose namespace it is that we were given: the checks before and after it is entered.
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

// Refuses (kDenied, with what to do) a namespace that is ours, and one whose owner lies outside our user namespace.
Result<Target> identify(UniqueFd netns);

// Once it is entered: refuses one that is pid 1's; a pid that is not in it (0: none known); and, when its owner is the
// initial user namespace or ours, one with a process that holds or can regain CAP_NET_ADMIN or CAP_SYS_ADMIN: such a
// task could undo what attach does, push an interface in, or leave. In a namespace that another user namespace owns
// these capabilities reach nothing outside and are no reason to refuse.
Result<void> check_inhabitants(const Target& target, pid_t pid);

}  // namespace sallyport::firewall
