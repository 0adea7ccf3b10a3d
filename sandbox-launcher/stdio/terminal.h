// RawTerminal: the caller's terminal in raw mode, for as long as a relay runs.
#pragma once

#include <sys/ioctl.h>
#include <termios.h>

#include "core/base/result.h"

namespace sallyport::launcher {

// Borrows `fd`. Restores in restore(), in the destructor, and at exit(3) if neither came to pass.
class RawTerminal {
 public:
  static Result<RawTerminal> enter(int fd);
  RawTerminal(RawTerminal&& other) noexcept;
  RawTerminal& operator=(RawTerminal&&) = delete;
  ~RawTerminal() { restore(); }
  void restore() noexcept;

 private:
  RawTerminal(int fd, termios saved) : fd_(fd), saved_(saved) {}
  int fd_;
  termios saved_;
};

// The size of `from`, given to `to` (which tells its foreground processes with SIGWINCH). Nothing is done when it still
// is `last`.
void copy_window_size(int from, int to, winsize& last) noexcept;

}  // namespace sallyport::launcher
