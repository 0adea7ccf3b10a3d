// LogFile: the file that the audit log is appended to, with disk space held ahead of its end.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/base/units.h"

namespace sallyport::audit_writer {

// Owns an open file. Space is reserved with fallocate, so that a full disk shows before a line meets it; a file system
// that cannot reserve still works, there a write finds out. One thread.
class LogFile {
 public:
  // `fd`: a regular file, O_RDWR | O_APPEND, that nobody else writes (an advisory lock is taken; kUnavailable when another
  // process holds it). kInvalid when it is something else.
  static Result<LogFile> adopt(UniqueFd fd, ByteCount reserve);

  enum class Outcome { kDone, kNoSpace };

  // Holds space ahead of the end; kNoSpace when less than half of the reserve is held and there is no more.
  Result<Outcome> reserve();
  // Appends `pending` and removes from it what has been written; kNoSpace leaves the rest for later. Other failures of
  // the disk are errors: the file's state is unknown then.
  Result<Outcome> append(std::string& pending);
  // fdatasync, if anything was appended since the last. An error means that appended lines may be lost.
  Result<void> sync();
  bool dirty() const noexcept { return dirty_; }
  // Gives the space ahead of the end back.
  void release_reserve() noexcept;

  std::uint64_t size() const noexcept { return size_; }
  int fd() const noexcept { return fd_.get(); }

 private:
  LogFile(UniqueFd fd, std::uint64_t size, std::uint64_t reserve) : fd_(std::move(fd)), size_(size), reserve_(reserve) {}

  UniqueFd fd_;
  std::uint64_t size_;
  std::uint64_t reserve_;
  std::uint64_t held_ = 0;  // file offset up to which space is held
  bool can_reserve_ = true;
  bool dirty_ = false;
};

}  // namespace sallyport::audit_writer
