#include "sandbox-launcher/stdio/flow.h"

#include <cerrno>

namespace sallyport::launcher {

pollfd Flow::wants() const noexcept {
  if (over()) return {-1, 0, 0};
  if (pending()) return {sink_fd_, POLLOUT, 0};
  return {source_fd_, POLLIN, 0};
}

void Flow::on_ready(short events) {
  if (events == 0 || over()) return;
  if (!pending()) fill();
  if (pending()) drain();
}

void Flow::fill() {
  ssize_t n = source_(buffer_.data(), buffer_.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) {  // EIO is how a pseudo-terminal says that its other side is gone
    source_open_ = false;
    return;
  }
  bytes_ += static_cast<std::uint64_t>(n);
  begin_ = 0;
  end_ = sink_ ? static_cast<std::size_t>(n) : 0;
}

void Flow::drain() {
  ssize_t n = sink_(buffer_.data() + begin_, end_ - begin_);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n < 0) {
    sink_open_ = false;
    return;
  }
  begin_ += static_cast<std::size_t>(n);
}

}  // namespace sallyport::launcher
