// DenialLog: a task's refusals, for the task to read at http://sallyport.internal/. Bounded; equal ones are counted,
// and what was refused once gives way before what was refused often.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "policies/engine/reason.h"
#include "policies/engine/target.h"

namespace sallyport::proxy {

struct DenialEntry {
  std::string what;  // escaped: "GET http://denied.test/x", "connect denied.test:443", "lookup denied.test"
  policy::ReasonCode reason = policy::ReasonCode::kInternal;
  std::string nearest_rule;  // may be empty
  std::string decision;
  std::uint64_t count = 1;
  // What the rule that would allow it is made from.
  std::optional<policy::Target> target = std::nullopt;
  std::uint16_t port = 0;              // 0: a lookup
  std::string method = {}, path = {};  // of a request; as the client sent them

  // The rule line that would allow it and nothing else, empty where none can. Made when it is first asked for, and
  // kept.
  const std::string& rule() const;
  mutable std::optional<std::string> known_rule = std::nullopt;
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
