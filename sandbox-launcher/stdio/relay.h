// StdioRelay: copies between the caller's standard streams and the task's pipes or pseudo-terminal.
//
// Owns the near ends of the task's streams and one thread; borrows the caller's descriptors 0, 1 and 2, whose file
// status flags it never changes (they are shared with the caller's shell). One direction holds at most
// kBuffer bytes: a slow reader stops the task's writes, nothing piles up. A terminal is put in raw mode only while the
// relay runs, and is restored by finish(), by the destructor, and at exit(3). Methods: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace sallyport::launcher {

// The near ends. Either `terminal` alone, or the three pipes.
struct StdioEnds {
  UniqueFd input;     // write side of the task's standard input
  UniqueFd output;    // read side of its standard output
  UniqueFd error;     // read side of its standard error
  UniqueFd terminal;  // master side of its pseudo-terminal
};

// The caller's descriptors; -1 leaves a stream out: an absent input is end of file, absent outputs are counted and
// dropped.
struct CallerStreams {
  int input = 0;
  int output = 1;
  int error = 2;
};

struct RelayTotals {
  std::uint64_t input_bytes = 0;   // from the caller to the task
  std::uint64_t output_bytes = 0;  // written by the task to standard output (or its terminal)
  std::uint64_t error_bytes = 0;
  bool truncated = false;  // finish() gave up with output still unread or undelivered
};

class StdioRelay {
 public:
  static constexpr std::size_t kBuffer = 64 * 1024;  // bytes a direction

  // Starts copying. kInternal when the thread or its wake-up descriptor cannot be made.
  static Result<std::unique_ptr<StdioRelay>> start(StdioEnds ends, CallerStreams caller);
  ~StdioRelay();
  StdioRelay(const StdioRelay&) = delete;
  StdioRelay& operator=(const StdioRelay&) = delete;

  // Call when the process tree is gone: stops reading the caller, drains what the task left until end of file or
  // `deadline`, restores the terminal, joins. Safe to call again.
  RelayTotals finish(Deadline deadline);

 private:
  class Impl;
  explicit StdioRelay(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sallyport::launcher
