// What the proxy may ask of the kernel once it serves.
#pragma once

#include "core/sys/seccomp.h"

namespace sallyport::proxy {

sys::SyscallFilter proxy_syscalls();

}  // namespace sallyport::proxy
