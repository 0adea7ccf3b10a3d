// The command line of bwrap (0.8 or later).
#pragma once

#include <string>
#include <vector>

#include "core/base/units.h"

namespace sallyport::launcher {

struct BwrapRequest {
  std::string root;  // absolute path of the staged root
  std::string host_name;
  int filter_fd = -1;                    // the compiled system-call filter, inherited
  std::vector<std::string> environment;  // NAME=value
  std::vector<std::string> hidden;       // files of /proc to be covered; they exist
  ByteCount shm_size{};
};

// What runc hides by default: they tell about the machine, not about the task.
inline constexpr const char* kHiddenKernelFiles[] = {"/proc/kcore",       "/proc/keys",        "/proc/key-users",
                                                     "/proc/timer_list",  "/proc/timer_stats", "/proc/latency_stats",
                                                     "/proc/sched_debug", "/proc/interrupts"};

// The options, for --args: all namespaces new, a new session, no capability, user and group 1000, ended with its
// parent. The command, which follows, is pid 1. It must be sallyport-init: that holds the task back, which --block-fd
// would do without saying when bwrap has finished its own work in the network namespace.
std::vector<std::string> bwrap_options(const BwrapRequest& request);

}  // namespace sallyport::launcher
