// DenialLog: a task's latest refusals, for the task to read at http://sallyport.internal/. Bounded; equal neighbours are counted.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "policies/engine/reason.h"

namespace sallyport::proxy {

struct DenialEntry {
  std::string what;  // escaped: "GET http://denied.test/x", "connect denied.test:443", "lookup denied.test"
  policy::ReasonCode reason = policy::ReasonCode::kInternal;
  std::string nearest_rule;  // may be empty
  std::string decision;
  std::uint64_t count = 1;
};

class DenialLog {
 public:
  static constexpr std::size_t kKept = 64;

  void add(DenialEntry entry);
  // Newest first.
  const std::deque<DenialEntry>& entries() const noexcept { return entries_; }
  std::uint64_t total() const noexcept { return total_; }

 private:
  std::deque<DenialEntry> entries_;
  std::uint64_t total_ = 0;
};

}  // namespace sallyport::proxy
