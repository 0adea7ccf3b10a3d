// explain: why a policy says what it says.
//
// Pure. Borrows from the policy, which must outlive the explanation. Cost grows with the number of rules: for people,
// not for traffic.
#pragma once

#include <string>
#include <vector>

#include "policies/review/inquiry.h"
#include "policies/review/why_not.h"

namespace sallyport::policy::review {

// One rule beside the one that decided.
struct RuleNote {
  const Rule* rule;
  Miss miss;         // Term::kNone: it matches too
  std::string said;  // one line: why it did not match, or why it did not decide; safe for a terminal
};

struct Explanation {
  Answer answer;
  const Rule* decided = nullptr;  // the rule that decided; null when none did
  // The nearest first; at most `most` of them.
  std::vector<RuleNote> others;
  std::size_t left_out = 0;
  // Of a denial: the narrowest rule line that would allow it, where one can.
  std::optional<std::string> would_allow;
  std::string limits;   // of the deciding rule, of an allowed inquiry
  std::string budgets;  // of the task
  std::string ceiling;  // what the policy above this one says; empty: there is none, or it was not asked
  std::vector<std::string> notes;
};

inline constexpr std::size_t kNearestRules = 10;

Explanation explain(const CompiledPolicy& policy, const Inquiry& inquiry, std::size_t most = kNearestRules);

// For a terminal, ASCII, every line ended. `file` is shown as the policy's.
std::string render(const Explanation& explanation, const CompiledPolicy& policy, const Inquiry& inquiry,
                   std::string_view file);
// One line: "denied: path_not_allowed, nearest rule prices in line 4".
std::string summary(const Answer& answer);

}  // namespace sallyport::policy::review
