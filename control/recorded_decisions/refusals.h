// The requests of a task that its policy refused most often, each with the rule that would allow it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/review/recorded.h"

namespace sallyport::control {

struct Refusal {
  std::string what;    // "GET http://denied.test/x", safe for a terminal
  std::string reason;  // a policy::ReasonCode as text
  std::uint64_t count = 0;
  std::string rule;  // the exact line that would allow it and nothing else; empty where none can
};

struct Refusals {
  std::vector<Refusal> most;  // the most frequent first, at most `kept`
  std::size_t kinds = 0;      // different ones in all
  std::uint64_t total = 0;
};

inline constexpr std::size_t kRefusalsKept = 10;

// Of what the policy decided; what a budget or a broken message ended is not counted. A lookup of a name that was also
// used for something is left to that.
Refusals most_refused(const std::vector<policy::review::Recorded>& log, std::size_t kept = kRefusalsKept);

}  // namespace sallyport::control
