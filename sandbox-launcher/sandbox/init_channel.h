// The launcher's end of the channel to a sandbox's pid 1 (init/protocol.h).
#pragma once

#include <sys/types.h>

#include <optional>
#include <utility>

#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "sandbox-launcher/init/protocol.h"

namespace sallyport::launcher {

struct InitHello {
  pid_t pid = -1;     // in the caller's pid namespace, by the kernel's word
  UniqueFd terminal;  // master side, when one was asked for
};

class InitChannel {
 public:
  // `inside` becomes descriptor 3 of the sandbox.
  static Result<InitChannel> make(UniqueFd& inside);

  int fd() const noexcept { return fd_.get(); }
  // To be called when fd() is readable. kDisconnected at its end; init's own words of failure become kUnavailable.
  Result<InitHello> hello();
  Result<void> start();
  Result<void> signal(int number);
  // The last thing that init reported about the command's end, without waiting; untrusted as to its truth, strict as to
  // its form.
  std::optional<InitMessage> ended();
  // The end of init and with it of the sandbox.
  void close() { fd_.reset(); }

 private:
  explicit InitChannel(UniqueFd fd) : fd_(std::move(fd)) {}
  Result<void> send(InitMessageType type, int value);
  UniqueFd fd_;
};

}  // namespace sallyport::launcher
