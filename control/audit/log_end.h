// Finding out, at start, where a log stops: the last line of the chain, what is torn after it, and which records of which
// ring its newest lines hold.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "control/audit_log/chain.h"
#include "core/base/result.h"

namespace sallyport::audit_writer {

// What the newest lines say about one ring.
struct RingTrace {
  std::vector<std::uint64_t> positions;  // ends of records that are in the log, ascending
  std::uint64_t reported = 0;            // records that `coalesced` lines account for, in all
};

struct LogEnd {
  // How far back is read. More than one group of lines: a process killed between writing a group and accepting it leaves
  // at most that to be recognised.
  static constexpr std::uint64_t kWindow = 2u << 20;

  audit_log::Anchor last;        // sequence 0: the log has no line yet
  std::uint64_t torn_bytes = 0;  // after `last`; counts the newline that is still to be written
  bool torn_needs_newline = false;
  audit_log::Hash torn_hash{};   // SHA-256 of those bytes
  std::map<std::uint64_t, RingTrace> rings;
};

// Reads the end of the file. kInvalid when its end holds no line of a log: then it is some other file, or damaged so far
// that nothing may be appended to it.
Result<LogEnd> read_log_end(int fd);

}  // namespace sallyport::audit_writer
