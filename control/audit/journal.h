// Journal: makes the lines of the log and puts them into its file.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "control/audit/log_file.h"
#include "control/audit/time_text.h"
#include "control/audit_log/chain.h"
#include "core/audit/record.h"

namespace sallyport::audit_writer {

using WallClock = std::chrono::system_clock::time_point (*)();

// Owns the file and the end of the chain. Lines are made in memory and written in groups by write(); what a full disk kept
// out stays in memory and goes first the next time, so that the chain on file never has a hole. One thread.
class Journal {
 public:
  // More than this is not kept unwritten: the caller stops taking records.
  static constexpr std::size_t kGroupBytes = 512 * 1024;

  Journal(LogFile file, audit_log::Anchor last, WallClock clock = &std::chrono::system_clock::now);

  // One line at a time: begin, members, end. Keys are constants; values may be hostile and are escaped.
  void begin(audit::RecordKind kind);
  void text(std::string_view key, std::string_view value, std::size_t cap = 256);
  void number(std::string_view key, std::uint64_t value);
  void ring(std::uint64_t ring);  // as 16 hexadecimal digits
  // The task and every field of a record, and which of them were cut.
  void record(const audit::DecodedRecord& record);
  struct Made {
    audit_log::Anchor anchor;
    std::uint64_t bytes;
  };
  Made end();

  // Bytes made and not yet in the file.
  std::size_t pending() const noexcept { return pending_.size(); }
  // A raw newline that ends a torn line of an earlier process; before any other line.
  void end_torn_line() { pending_ += '\n'; }

  Result<LogFile::Outcome> write() { return file_.append(pending_); }
  LogFile& file() noexcept { return file_; }
  bool dirty() const noexcept { return file_.dirty(); }
  // The line made last.
  const audit_log::Anchor& last() const noexcept { return last_; }

 private:
  LogFile file_;
  audit_log::Anchor last_;
  WallClock clock_;
  audit_log::Hasher hasher_;
  TimeText time_;
  std::string pending_;
  std::size_t start_ = 0;  // of the line being made
};

}  // namespace sallyport::audit_writer
