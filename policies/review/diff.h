// diff: what a second policy allows that the first does not, and the other way round. Of what is allowed, not of texts.
//
// Sound in one direction: where it finds nothing wider and nothing undecided, no name, connection or request whatever
// is allowed by `b` and denied by `a`, and none may use more. Every difference in what is allowed has a witness, which
// both policies were asked about; narrower limits are also told without one. What it cannot decide it says, and that
// counts as wider. Pure; borrows from both policies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/review/inquiry.h"

namespace sallyport::policy::review {

struct Change {
  std::string what;  // one line, safe for a terminal
  // What both were asked, where one request shows the difference: allowed by one and not the other, or with other
  // limits.
  std::optional<Inquiry> witness;
  std::string said_a, said_b;  // summaries of the answers to the witness
};

struct Diff {
  std::vector<Change> wider, narrower;
  std::vector<std::string> undecided;
  // More differences than kMostChanges of one kind: counted, not listed.
  std::size_t wider_untold = 0, narrower_untold = 0;

  bool is_wider() const noexcept { return !wider.empty() || !undecided.empty(); }
  bool is_same() const noexcept { return !is_wider() && narrower.empty(); }
};

inline constexpr std::size_t kMostChanges = 200;

Diff diff(const CompiledPolicy& a, const CompiledPolicy& b);

// For a terminal. The names are those of the files.
std::string render(const Diff& difference, std::string_view name_a, std::string_view name_b);

}  // namespace sallyport::policy::review
