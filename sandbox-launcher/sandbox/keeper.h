// The keeper: a process between the launcher and the runtime that outlives a launcher which dies.
//
// It is the parent (and subreaper) of everything the runtime starts. When told to, or when the launcher's end of its
// channel closes, it kills all its descendants, waits until the kernel has removed them, lets the runtime forget the
// sandbox, and removes its directory. It takes no input from the sandbox.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "sandbox-launcher/rootfs/plan.h"
#include "sandbox-launcher/spec/report.h"

namespace sallyport::launcher {

// What the keeper needs; copied into it by fork.
struct KeeperJob {
  RootPlan plan;
  std::string stage_point;
  std::vector<std::string> runtime;  // the runtime's command line, a path first
  bool become_task_user = false;     // bwrap as root: it runs as the task's host id
  // Descriptors of the runtime: standard streams, init's channel (3), and for bwrap its arguments and filter under
  // their own numbers.
  UniqueFd input, output, error, channel, arguments, filter;
  std::vector<std::string> forget;  // the runtime's command that removes its record; empty: none
  std::string cgroup;               // name below each hierarchy's top that must be gone at the end; empty: none
  std::string directory;  // made at the start, with `config` as its config.json, and removed at the end; empty: none
  std::string config;
};

// The numbers that `arguments` and `filter` have in the runtime.
inline constexpr int kArgumentsFd = 4;
inline constexpr int kFilterFd = 5;

class Keeper {
 public:
  // Forks it. The job's descriptors are closed on this side.
  static Result<Keeper> start(KeeperJob job);

  Keeper(Keeper&& other) noexcept : pid_(std::exchange(other.pid_, -1)), channel_(std::move(other.channel_)) {}
  Keeper& operator=(Keeper&&) = delete;
  // Closes the channel; the keeper then cleans up by itself.
  ~Keeper() = default;

  // Readable when the runtime could not be started, or has ended.
  int fd() const noexcept { return channel_.get(); }
  // To be called when fd() is readable: why the runtime failed, or nothing when it ended well.
  std::optional<Error> failure();
  // Has everything removed, and reaps the keeper. Each step that it took; one more, failed, when it does not finish in
  // time.
  std::vector<CleanupStep> finish(Deadline deadline);

 private:
  Keeper(pid_t pid, UniqueFd channel) : pid_(pid), channel_(std::move(channel)) {}
  pid_t pid_;
  UniqueFd channel_;
};

}  // namespace sallyport::launcher
