#include "policies/engine/decide_parts.h"

#include <algorithm>

#include "policies/engine/floor.h"

namespace sallyport::policy::parts {

std::optional<RuleRef> ref(const CompiledPolicy& policy, std::uint32_t rule) {
  if (rule == kNoRuleIndex) return std::nullopt;
  const Rule& r = policy.rules()[rule];
  return RuleRef{r.index, r.id, r.line, r.ech};
}

void deny(Verdict& verdict, const CompiledPolicy& policy, ReasonCode reason, std::uint32_t rule,
          std::uint32_t nearest) {
  verdict.reason = policy.is_absent() ? ReasonCode::kNoPolicy : reason;
  verdict.rule = ref(policy, rule);
  verdict.nearest = ref(policy, nearest);
}

void deny_unmentioned(Verdict& verdict, const CompiledPolicy& policy, const Target& target, const HostMatches& hosts) {
  std::uint32_t first = kNoRuleIndex;
  for (const HostRules* host : hosts) first = std::min(first, host->first_allow);
  ReasonCode reason = first != kNoRuleIndex ? ReasonCode::kPortNotAllowed
                      : target.is_literal() ? ReasonCode::kLiteralNotAllowed
                                            : ReasonCode::kNoRule;
  deny(verdict, policy, reason, kNoRuleIndex, first);
}

bool is_floor(const Target& target) {
  return target.host() != nullptr ? policy::is_floor(*target.host()) : policy::is_floor(*target.address());
}

}  // namespace sallyport::policy::parts
