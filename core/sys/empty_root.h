// A root directory with nothing in it.
#pragma once

#include "core/base/result.h"

namespace sallyport::sys {

// In a mount namespace of the caller's own (unshared already): replaces the root by an empty, read-only tmpfs and lets
// go of everything that was mounted. Verified. Open descriptors stay usable. Needs CAP_SYS_ADMIN over the mount
// namespace.
Result<void> enter_empty_root();

// Makes a user and a mount namespace of the caller's own, in which only its own uid and gid exist. kDenied where the
// system forbids it, saying what to allow.
Result<void> unshare_user_and_mounts();

}  // namespace sallyport::sys
