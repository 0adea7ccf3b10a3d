// AttachTarget: a network namespace pinned by a descriptor, found from a process or a path.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/base/result.h"
#include "core/sys/namespaces.h"

namespace sallyport::firewall {

struct AttachTarget {
  sys::Namespace netns;  // of kind kNetwork
  pid_t pid = 0;         // the process it was found by; 0 when found by path
};

// The namespace of a running process. The process is held by a pidfd while its namespace is opened, so that a pid that
// is given to another process in between is noticed. kUnavailable when there is no such process, kDenied without the
// right to look.
Result<AttachTarget> target_of_pid(pid_t pid);

// A bind-mounted namespace ("/run/netns/x", "/proc/PID/ns/net"). kInvalid when the path is no network namespace.
Result<AttachTarget> target_at_path(const std::string& path);

}  // namespace sallyport::firewall
