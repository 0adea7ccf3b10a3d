// RingSession: one registered ring and what the audit process knows about it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "control/audit/log_end.h"
#include "control/audit_log/chain.h"
#include "core/audit/ring_reader.h"

namespace sallyport::audit_writer {

// First and last line of something.
struct Extent {
  audit_log::Anchor first;
  audit_log::Anchor last;
  void add(const audit_log::Anchor& line) {
    if (first.sequence == 0) first = line;
    last = line;
  }
};

struct RingSession {
  enum class State {
    kOpen,
    kStalled,  // a task has used up its share: nothing is taken until control ends it
    kClosed,   // nonsense was found in it
  };

  RingSession(std::uint64_t number, audit::RingReader opened, RingTrace trace)
      : id(number), reader(std::move(opened)), tally(reader.tally()), logged(std::move(trace.positions)) {
    tally.reported = std::max(tally.reported, trace.reported);
  }

  // True for a record that an earlier audit process wrote and was killed before it accepted it.
  bool is_logged(audit::Sequence end) {
    while (next_logged < logged.size() && logged[next_logged] < end.value) ++next_logged;
    return next_logged < logged.size() && logged[next_logged] == end.value;
  }

  std::uint64_t id;
  audit::RingReader reader;
  audit::RingReader::Tally tally;     // with what has been taken and not yet accepted
  std::vector<std::uint64_t> logged;  // ascending
  std::size_t next_logged = 0;
  std::set<std::string, std::less<>> tasks;
  State state = State::kOpen;
  std::string stalled_by;
  bool closing = false;  // control has asked to close it: budgets hold nothing back any more
  Extent lines;
  std::uint64_t own_bytes = 0;  // of records without a task
};

// What a task has caused in the log since this process started.
struct TaskAccount {
  Extent lines;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_at_end = 0;
  unsigned rings = 0;
  bool over = false;
  bool ended = false;
};

}  // namespace sallyport::audit_writer
