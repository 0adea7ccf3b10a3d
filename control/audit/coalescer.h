// Coalescer: repeated identical denials are counted instead of written one by one.
//
// A program that retries what it is refused would otherwise fill the log with one line. The first is always written at
// once; equal ones within the window after it are counted and reported in one `coalesced` line when the window ends.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/audit/record.h"
#include "core/base/deadline.h"

namespace sallyport::audit_writer {

// One thread; bounded in entries, for all and for one task: beyond that denials are written one by one.
class Coalescer {
 public:
  static constexpr std::chrono::seconds kWindow{1};
  static constexpr std::size_t kMaxEntries = 16'384;
  static constexpr std::size_t kMaxEntriesOfTask = 4096;

  // True: the record equals one written less than a window ago, and has been counted. False: it is to be written.
  bool fold(std::uint64_t ring, const audit::DecodedRecord& record, std::span<const std::byte> bytes, Clock::time_point now);

  // Denials that were counted and are due to be reported.
  struct Report {
    std::uint64_t ring;
    std::vector<std::byte> record;  // the first of them, as it came
    std::uint64_t count;
  };
  // Those whose window has ended; at most `most`. A denial that keeps coming starts a new window.
  std::vector<Report> due(Clock::time_point now, std::size_t most);
  // Those of one task, or of one ring, or all, at once; they are forgotten.
  std::vector<Report> take_task(std::string_view task);
  std::vector<Report> take_ring(std::uint64_t ring);
  std::vector<Report> take_all();

  // When due() has something to do next.
  Deadline next() const noexcept;

 private:
  struct Entry {
    std::uint64_t ring;
    std::string task;
    std::vector<std::byte> record;
    Clock::time_point ends;
    std::uint64_t count = 0;
    std::list<const std::string*>::iterator place;  // in order_
  };
  using Entries = std::unordered_map<std::string, Entry>;
  template <class Condition>
  std::vector<Report> take_if(Condition condition);
  Entries::iterator forget(Entries::iterator entry);

  Entries entries_;
  std::list<const std::string*> order_;  // keys, by when their windows end
  std::unordered_map<std::string, std::size_t> of_task_;
};

}  // namespace sallyport::audit_writer
