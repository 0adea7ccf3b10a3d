// confine: one call by which a daemon gives up everything it does not need.
#pragma once

#include <sys/resource.h>

#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/sys/landlock.h"
#include "core/sys/privileges.h"
#include "core/sys/seccomp.h"

namespace sallyport::sys {

// Accepts Landlock instead of an empty root where an ordinary user may not make user namespaces. Weaker: anything
// Landlock does not know stays reachable. Search for this name to find every place that does.
struct AcceptLandlockOnly {
  explicit AcceptLandlockOnly() = default;
};

struct ResourceLimit {
  int resource;  // RLIMIT_…
  rlim_t value;  // lowered to this, never raised
};

// What a daemon keeps. The network namespace is always kept.
struct Confinement {
  enum class Network { kUse, kNoTcp };  // kNoTcp: Landlock denies TCP bind and connect

  std::optional<User> user;  // the daemon's own user; needed as root, refused otherwise
  Network network = Network::kNoTcp;
  std::vector<DirectoryGrant> directories;  // what stays openable (Landlock); usually nothing
  std::vector<ResourceLimit> limits;        // besides RLIMIT_CORE 0 and, without filter.threads(), RLIMIT_NPROC 0
  SyscallFilter filter;
  std::optional<AcceptLandlockOnly> without_user_namespace;
};

// What is in force, verified after the fact.
struct ConfinementReport {
  bool empty_root = false;      // the root directory is an empty read-only tmpfs
  bool user_namespace = false;  // a user namespace of its own
  int landlock_abi = 0;         // 0: the kernel has none
  bool bounding_set_empty = false;
};

// Confines the calling process, which must have one thread (kInvalid otherwise): start threads afterwards. Descriptors
// are not touched: those open stay usable, so close what is not wanted first. In order:
//   as root: own mount namespace, empty root, empty bounding set, `user`;
//   as an ordinary user: own user and mount namespace, empty root;
//   then no capabilities, not dumpable, no_new_privs, limits, Landlock, PR_SET_PDEATHSIG again if it was set, seccomp.
// On failure the process may be half confined: the only sensible thing is to end it. kDenied where a user namespace is
// forbidden and not excused; kInvalid for contradictory arguments.
Result<ConfinementReport> confine(const Confinement& confinement);

}  // namespace sallyport::sys
