// The last check before a sandbox may be used: what the kernel says about its pid 1.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "core/base/result.h"

namespace sallyport::launcher {

// kInternal, naming the first fault, unless `pid` runs as `host_uid` only, holds no capability, cannot gain privileges,
// has a system-call filter, and shares none of the caller's user, network, pid, mount, ipc, uts and cgroup namespaces.
Result<void> verify_confined(pid_t pid, std::uint32_t host_uid);

}  // namespace sallyport::launcher
