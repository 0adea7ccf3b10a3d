#include "sandbox-launcher/stdio/terminal.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace sallyport::launcher {
namespace {

// What exit(3) puts back. One terminal a process: a caller has one.
std::atomic<int> raw_fd{-1};
termios raw_saved;

void restore_at_exit() {
  int fd = raw_fd.exchange(-1);
  if (fd >= 0) tcsetattr(fd, TCSANOW, &raw_saved);
}

}  // namespace

Result<RawTerminal> RawTerminal::enter(int fd) {
  termios saved{};
  if (tcgetattr(fd, &saved) < 0) return fail_errno("read the terminal's mode");
  termios raw = saved;
  cfmakeraw(&raw);
  static const bool registered = std::atexit(restore_at_exit) == 0;
  if (!registered) return fail(ErrorKind::kOverloaded, "the terminal's mode could not be restored at exit");
  raw_saved = saved;
  raw_fd = fd;
  if (tcsetattr(fd, TCSADRAIN, &raw) < 0) {
    raw_fd = -1;
    return fail_errno("set the terminal to raw mode");
  }
  return RawTerminal(fd, saved);
}

RawTerminal::RawTerminal(RawTerminal&& other) noexcept : fd_(std::exchange(other.fd_, -1)), saved_(other.saved_) {}

void RawTerminal::restore() noexcept {
  if (fd_ < 0) return;
  tcsetattr(fd_, TCSADRAIN, &saved_);
  raw_fd = -1;
  fd_ = -1;
}

void copy_window_size(int from, int to, winsize& last) noexcept {
  winsize now{};
  if (ioctl(from, TIOCGWINSZ, &now) < 0 || std::memcmp(&now, &last, sizeof now) == 0) return;
  last = now;
  ioctl(to, TIOCSWINSZ, &now);
}

}  // namespace sallyport::launcher
