// Mounts a RootPlan in the calling process's own mount namespace, for the runtime that it becomes.
//
// The mounts vanish with the namespace: nothing is left on the host however the sandbox ends, and nothing shows there
// meanwhile.
#pragma once

#include <string>

#include "core/base/result.h"
#include "sandbox-launcher/rootfs/plan.h"

namespace sallyport::launcher {

// A directory everybody may pass through, to mount the root on in a private namespace: the first of /mnt, /media, /srv,
// /opt, /tmp that neither holds nor is the state directory.
Result<std::string> choose_stage_point(const std::string& state_dir);

// Leaves the caller's mount namespace for a private one; as an ordinary user first for a user namespace of its own, in
// which the user keeps its id. Single-threaded processes only.
Result<void> enter_private_mounts();

// Builds the plan at `at`: a tmpfs, read-only in the end, with every entry mounted nosuid and nodev, read-only unless
// said otherwise. A bind's source is opened anew and must be the pinned inode: a path that changed meanwhile is
// kDenied.
Result<void> build_stage(const RootPlan& plan, const std::string& at);

}  // namespace sallyport::launcher
