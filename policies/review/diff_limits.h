// What limits and budgets of two policies differ in. For diff.cc.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "policies/review/diff.h"

namespace sallyport::policy::review {

// Which rules of both decide one and the same request, with one such.
using RulePairs = std::map<std::pair<std::uint32_t, std::uint32_t>, Inquiry>;
// Which may, though no such request is known.
using PossiblePairs = std::set<std::pair<std::uint32_t, std::uint32_t>>;

// Compares rule by rule: what one rule of `a` limited, the rules of `b` that took its place may together not exceed.
// Where that needs a pair that is only possible, it is undecided.
void diff_rule_limits(const CompiledPolicy& a, const CompiledPolicy& b, const RulePairs& pairs,
                      const PossiblePairs& possible, Diff& out);
void diff_budgets(const CompiledPolicy& a, const CompiledPolicy& b, Diff& out);

}  // namespace sallyport::policy::review
