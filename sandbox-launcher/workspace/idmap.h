// A user namespace that says whose a shared directory's files are inside, for an idmapped mount.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace sallyport::launcher {

// Files of `owner`:`group` on disk appear as `host_id`, and what `host_id` creates is stored as `owner`:`group`:
// nothing on the host changes owner, and the task's id never reaches the disk. Other owners' files appear as nobody's.
// Needs root.
Result<UniqueFd> make_idmap(uid_t owner, gid_t group, std::uint32_t host_id);

}  // namespace sallyport::launcher
