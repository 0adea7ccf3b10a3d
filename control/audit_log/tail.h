// The newest lines of an audit log, and those that are added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "control/audit_log/line.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace sallyport::audit_log {

// Follows a log file from `last_lines` before its end. One thread; next() does not wait.
class Tail {
 public:
  // Steps back at most `last_lines` lines and at most 64 MiB.
  static Result<Tail> open(const std::string& path, std::size_t last_lines);

  // The next finished line without its newline; nullopt when there is none now (ask again later). Untrusted text, at most
  // kMaxLineBytes: what is longer is passed over.
  Result<std::optional<std::string>> next();

 private:
  Tail(UniqueFd fd, std::uint64_t offset) : fd_(std::move(fd)), offset_(offset) {}
  Result<bool> fill();

  UniqueFd fd_;
  std::uint64_t offset_;  // of the next byte to read
  std::string buffer_;
  bool skipping_ = false;  // inside a line that is too long
};

// One line for a terminal: time, kind, task, verdict, what for, why. Text that is no line of the log comes escaped and marked.
std::string render_line(std::string_view text);

}  // namespace sallyport::audit_log
