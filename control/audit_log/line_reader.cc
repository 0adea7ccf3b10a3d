#include "control/audit_log/line_reader.h"

#include <unistd.h>

#include <cerrno>

namespace sallyport::audit_log {

Result<std::optional<LineReader::Piece>> LineReader::next() {
  constexpr std::size_t kChunk = 64 * 1024;
  std::size_t looked = 0;
  while (true) {
    std::string_view left = std::string_view(buffer_).substr(at_);
    std::size_t newline = left.substr(0, max_ + 1).find('\n', looked);
    if (newline != std::string_view::npos) {
      at_ += newline + 1;
      return std::optional<Piece>(Piece{left.substr(0, newline), true});
    }
    if (left.size() > max_) {
      at_ += max_;
      return std::optional<Piece>(Piece{left.substr(0, max_), false});
    }
    if (end_) {
      at_ = buffer_.size();
      return left.empty() ? std::nullopt : std::optional<Piece>(Piece{left, false});
    }
    looked = left.size();
    buffer_.erase(0, at_);
    at_ = 0;
    std::size_t size = buffer_.size();
    buffer_.resize(size + kChunk);
    ssize_t n = ::read(fd_, buffer_.data() + size, kChunk);
    int code = errno;
    buffer_.resize(size + (n > 0 ? static_cast<std::size_t>(n) : 0));
    if (n < 0 && code != EINTR) return fail(Error::from_errno("audit log: read", code));
    if (n == 0) end_ = true;
  }
}

}  // namespace sallyport::audit_log
