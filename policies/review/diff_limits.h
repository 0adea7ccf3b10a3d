// What limits and budgets of two policies differ in. For diff.cc.
#pragma once

#include <cstdint>
#include <map>

#include "policies/review/diff.h"

namespace sallyport::policy::review {

// Which rules of both decide one and the same request, with one such.
using RulePairs = std::map<std::pair<std::uint32_t, std::uint32_t>, Inquiry>;

// Compares rule by rule: what one rule of `a` limited, the rules of `b` that took its place may together not exceed.
void diff_rule_limits(const CompiledPolicy& a, const CompiledPolicy& b, const RulePairs& pairs, Diff& out);
// Whether a rule with these limits may use more than one with those of `bound`.
bool may_exceed(const Limits& limits, const Limits& bound);
void diff_budgets(const CompiledPolicy& a, const CompiledPolicy& b, Diff& out);

}  // namespace sallyport::policy::review
