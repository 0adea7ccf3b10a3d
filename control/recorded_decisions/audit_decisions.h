// The decisions in an audit log, as questions that a policy can be asked again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "policies/review/recorded.h"

namespace sallyport::control {

struct AuditDecisions {
  std::vector<policy::review::Recorded> decisions;  // in the order of the log
  std::uint64_t records = 0;                        // lines that are records of any kind
  std::uint64_t unread = 0;  // decisions without a target, with a shortened path, or of an unknown form
};

// The contents are untrusted; the hash chain is not checked (that is `sallyport audit verify`). An Error only when the
// file cannot be read, or holds more than kMostDecisions.
inline constexpr std::size_t kMostDecisions = 2'000'000;
// `task`: of this task only; empty: of all.
Result<AuditDecisions> read_decisions(const std::string& path, std::string_view task = {});

// Of one record; nothing for those that are no decisions. `unread` counts those that are and cannot be asked again.
std::optional<policy::review::Recorded> decision_of(std::string_view line, std::string_view task,
                                                    std::uint64_t& records, std::uint64_t& unread);

}  // namespace sallyport::control
