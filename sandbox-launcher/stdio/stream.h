// Reading and writing a descriptor that is shared with others, without ever blocking and without changing its flags.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string_view>

#include "core/base/unique_fd.h"

namespace sallyport::launcher {

// One of the caller's descriptors. O_NONBLOCK belongs to the open file, which the caller's shell shares; so pipes and
// terminals are opened anew where that is possible, sockets are used with MSG_DONTWAIT, regular files never block, and
// what remains is written in pieces that poll(2) vouches for.
class SharedStream {
 public:
  // Borrows `fd`, which may be -1.
  static SharedStream reader(int fd);
  static SharedStream writer(int fd);

  // What to poll; -1 when there is nothing.
  int poll_fd() const noexcept { return own_ ? own_.get() : fd_; }
  // Bytes, 0 at the end, -1 with errno (EAGAIN: not now). To be called when poll says so.
  ssize_t read(char* to, std::size_t size) const noexcept;
  ssize_t write(std::string_view bytes) const noexcept;
  // False when reading would stop this process (SIGTTIN): a terminal whose foreground is another process group.
  bool may_read() const noexcept;

 private:
  enum class Kind { kPlain, kSocket, kUnbounded };
  SharedStream(int fd, int access);
  int fd_ = -1;
  UniqueFd own_;
  Kind kind_ = Kind::kPlain;
  bool terminal_ = false;
};

}  // namespace sallyport::launcher
