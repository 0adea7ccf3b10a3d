// Signals as something to read, for event loops.
#pragma once

#include <signal.h>

#include <initializer_list>
#include <optional>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace sallyport::sys {

struct ReceivedSignal {
  int number = 0;
  pid_t pid = 0;   // sender, or the child that changed
  int status = 0;  // of SIGCHLD
};

// Blocks the given signals in the calling thread (start other threads afterwards: they inherit the mask) and delivers
// them through a descriptor. The destructor restores the mask. A SIGCHLD may stand for several children.
class SignalReader {
 public:
  static Result<SignalReader> open(std::initializer_list<int> signals);
  SignalReader(SignalReader&&) noexcept = default;
  SignalReader& operator=(SignalReader&&) = delete;
  ~SignalReader();

  // Readable when a signal is pending; non-blocking, close-on-exec. Borrowed.
  int fd() const noexcept { return fd_.get(); }
  // The next pending signal; nullopt when there is none.
  Result<std::optional<ReceivedSignal>> read();

 private:
  SignalReader(UniqueFd fd, sigset_t previous) noexcept : fd_(std::move(fd)), previous_(previous) {}
  UniqueFd fd_;
  sigset_t previous_;
};

// A write to a closed pipe or socket then fails with EPIPE instead of ending the process.
void ignore_sigpipe() noexcept;

}  // namespace sallyport::sys
