// ChildProcess: the one owner of a started child: waits for it, signals it, and does not leave it behind.
#pragma once

#include <optional>
#include <string>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/sys/spawn.h"

namespace sallyport::sys {

// How a process ended.
struct ExitStatus {
  enum class How { kExited, kSignalled };
  How how = How::kExited;
  int value = 0;  // exit status, or the signal's number

  bool succeeded() const noexcept { return how == How::kExited && value == 0; }
  // "exited with 3", "killed by SIGSYS (31)"
  std::string text() const;
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

// Owns one child. Not thread safe. The destructor of a child that has not ended sends SIGKILL and reaps it, waiting at
// most 2 s: wait for it yourself, or terminate(), where that matters. Needs SIGCHLD not to be ignored.
class ChildProcess {
 public:
  static Result<ChildProcess> start(const SpawnOptions& options);
  explicit ChildProcess(Child child) noexcept : child_(std::move(child)) {}
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  pid_t pid() const noexcept { return child_.pid; }
  // Becomes readable when the child has ended: for poll and epoll. Borrowed.
  int pidfd() const noexcept { return child_.pidfd.get(); }
  bool ended() const noexcept { return status_.has_value(); }
  std::optional<ExitStatus> status() const noexcept { return status_; }

  // Waits until it has ended and reaps it. kTimedOut when `deadline` passes first. Repeats the answer once known.
  Result<ExitStatus> wait(Deadline deadline);
  // Reaps it if it has ended; nullopt while it runs. Never blocks.
  Result<std::optional<ExitStatus>> try_wait();
  // Sends a signal through the pidfd: never to another process. Success also when it has just ended.
  Result<void> signal(int number);
  // Sends a signal to its process group; only for a child started with kNewGroup or kNewSession, and not yet reaped.
  Result<void> signal_group(int number);
  // SIGTERM, waits until `grace`, then SIGKILL and waits 2 s more. Returns how it ended.
  Result<ExitStatus> terminate(Deadline grace);

 private:
  Child child_;
  std::optional<ExitStatus> status_;
};

}  // namespace sallyport::sys
