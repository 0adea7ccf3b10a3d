// What was decided once, as an audit log tells it, held against a policy; and the smallest policy for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/review/inquiry.h"

namespace sallyport::policy::review {

struct Recorded {
  Inquiry inquiry;  // without query: logs hold none
  ReasonCode reason = ReasonCode::kInternal;
  std::uint64_t count = 1;

  bool allowed() const noexcept { return reason == ReasonCode::kAllowed; }
  // Decided by the policy of then. What a budget, an address or a broken message decided, no policy can change.
  bool by_policy() const noexcept { return allowed() || category(reason) == Category::kPolicy; }
};

struct Replayed {
  struct Change {
    Inquiry inquiry;
    std::string then, now;  // summaries
    std::uint64_t count = 0;
    bool allowed_now = false;
  };
  std::vector<Change> changes;    // in the order of the log; equal ones together
  std::uint64_t same = 0;         // decisions that stay
  std::uint64_t passed_over = 0;  // that no policy decides
  bool asks_for_queries = false;  // the policy looks at queries, which the log does not hold
};

Replayed replay(const CompiledPolicy& policy, const std::vector<Recorded>& log);
std::string render(const Replayed& replayed);

struct Suggestion {
  std::string text;             // a policy that loads and allows everything that was recorded but what is left out
  std::uint64_t decisions = 0;  // that it stands for
  std::size_t rules = 0;
};

// Hosts as they are, never a wildcard. Of paths, a segment of digits, hexadecimal digits or a UUID becomes '*' where at
// least kManyIds different ones stood there, and the file says so. What a rule denied, and what no rule can allow, is
// left out and told in comments. `source` is shown as where it comes from.
inline constexpr std::size_t kManyIds = 3;
Suggestion suggest(const std::vector<Recorded>& log, std::string_view name, std::string_view source);

}  // namespace sallyport::policy::review
