// Pieces that all decisions share. For decide*.cc only.
#pragma once

#include "policies/engine/policy.h"
#include "policies/engine/port_matches.h"
#include "policies/engine/verdict.h"

namespace sallyport::policy::parts {

std::optional<RuleRef> ref(const CompiledPolicy& policy, std::uint32_t rule);

// Makes `verdict` a denial. Either index may be kNoRuleIndex. Under deny_all() the reason is kNoPolicy.
void deny(Verdict& verdict, const CompiledPolicy& policy, ReasonCode reason, std::uint32_t rule, std::uint32_t nearest);
// The denial when no allow rule is about this host and port.
void deny_unmentioned(Verdict& verdict, const CompiledPolicy& policy, const Target& target, const HostMatches& hosts);

bool is_floor(const Target& target);

}  // namespace sallyport::policy::parts
