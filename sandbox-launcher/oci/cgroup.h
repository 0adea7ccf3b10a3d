// The cgroup of a running sandbox: reads what its limits have stopped. Works on cgroup v1, v2 and both at once.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace sallyport::launcher {

struct CgroupEvents {
  std::uint64_t oom_kills = 0;
  std::uint64_t refused_forks = 0;
};

// Which controllers this machine offers, and by which version.
struct CgroupSupport {
  enum class Version { kNone, kV1, kV2 };
  Version memory = Version::kNone;
  Version pids = Version::kNone;
  bool counts_swap = false;  // a limit on swap can be set
};
CgroupSupport cgroup_support();

// Holds the directories of one process's memory and pids cgroups, so that they can be read when the process is gone.
class CgroupReader {
 public:
  // The cgroups that `pid` is in now. A controller that is not there is left out.
  static CgroupReader of(pid_t pid);
  CgroupEvents read() const;

 private:
  UniqueFd memory_;
  UniqueFd pids_;
  bool memory_is_v1_ = false;
};

}  // namespace sallyport::launcher
