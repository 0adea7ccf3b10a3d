// Lines of a file that may be anything, read forward in constant memory.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace sallyport::audit_log {

// Borrows the descriptor and reads from where it stands. A line longer than `max` comes in pieces of at most `max` bytes,
// all but the last without an end.
class LineReader {
 public:
  LineReader(int fd, std::size_t max) : fd_(fd), max_(max) {}

  struct Piece {
    std::string_view text;  // without the newline; valid until the next call
    bool ended = false;     // by a newline
  };
  // nullopt at the end of the file.
  Result<std::optional<Piece>> next();

 private:
  int fd_;
  std::size_t max_;
  std::string buffer_;
  std::size_t at_ = 0;
  bool end_ = false;
};

}  // namespace sallyport::audit_log
