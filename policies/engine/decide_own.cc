#include "policies/engine/decide_own.h"

#include <algorithm>

#include "policies/engine/decide_parts.h"

namespace sallyport::policy {
namespace {

using parts::deny;
using parts::ref;

// Whether something at this port could be allowed; if not, a denial that prevents it.
PortMatches::Open open_at(const PortMatches& at) {
  if (auto whole = at.whole_deny(); whole != kNoRuleIndex) return {kNoRuleIndex, whole};
  PortMatches::Open open = at.has_http_allow() ? at.first_open() : PortMatches::Open{};
  auto opaque = at.opaque_allow();
  if (opaque == kNoRuleIndex) return open;
  if (auto partial = at.partial_deny(); partial != kNoRuleIndex) return {open.allow, std::min(open.deny, partial)};
  return {std::min(open.allow, opaque), open.deny};
}

Treatment treatment_of(Scheme scheme) {
  switch (scheme) {
    case Scheme::kHttp:
      return Treatment::kHttp;
    case Scheme::kTls:
      return Treatment::kTlsTunnel;
    case Scheme::kTcp:
      return Treatment::kTcpTunnel;
  }
  return Treatment::kHttp;
}

// Of the allow rules that some connection could pass by, whether one satisfies `wanted`.
template <class Wanted>
std::uint32_t find_granting(const CompiledPolicy& policy, const HostMatches& hosts, Wanted wanted) {
  std::uint32_t first = kNoRuleIndex;
  for (const HostRules* host : hosts)
    for (std::uint32_t rule : host->granting)
      if (rule < first && wanted(policy.rules()[rule].dns) &&
          PortMatches(policy.index(), hosts, policy.index().terms(rule).port).deny_covering(policy.index().terms(rule)) ==
              kNoRuleIndex)
        first = rule;
  return first;
}

}  // namespace

namespace own {

NameVerdict name(const CompiledPolicy& policy, const HostName& asked) {
  NameVerdict verdict;
  Target target(asked);
  HostMatches hosts;
  policy.index().match(target, hosts);
  std::uint32_t denied_by = kNoRuleIndex;
  for (const HostRules* host : hosts) {
    for (const PortRules& rules : host->ports) {
      if (!rules.allows()) continue;
      auto open = open_at(PortMatches(policy.index(), hosts, rules.port));
      denied_by = std::min(denied_by, open.deny);
      if (open.allow == kNoRuleIndex) continue;
      if (parts::is_floor(target)) {
        deny(verdict, policy, ReasonCode::kFloor, kNoRuleIndex, kNoRuleIndex);
        return verdict;
      }
      verdict.reason = ReasonCode::kAllowed;
      verdict.rule = ref(policy, open.allow);
      verdict.real_addresses = find_granting(policy, hosts, [](const DnsGrant& dns) { return dns.real; }) != kNoRuleIndex;
      return verdict;
    }
  }
  auto reason = denied_by == kNoRuleIndex ? ReasonCode::kNoRule : ReasonCode::kDeniedByRule;
  deny(verdict, policy, reason, denied_by, kNoRuleIndex);
  return verdict;
}

NameVerdict record(const CompiledPolicy& policy, const HostName& asked, RecordType type) {
  NameVerdict verdict = name(policy, asked);
  if (!verdict.allowed() || type == kRecordA || type == kRecordAaaa) return verdict;
  HostMatches hosts;
  policy.index().match(Target(asked), hosts);
  auto granting = find_granting(policy, hosts, [&](const DnsGrant& dns) { return dns.holds(type); });
  if (granting != kNoRuleIndex)
    verdict.rule = ref(policy, granting);
  else
    deny(verdict, policy, ReasonCode::kRecordTypeNotAllowed, kNoRuleIndex, verdict.rule->index);
  return verdict;
}

ConnectionVerdict connection(const CompiledPolicy& policy, const ConnectionRequest& request) {
  ConnectionVerdict verdict;
  HostMatches hosts;
  policy.index().match(request.target, hosts);
  PortMatches at(policy.index(), hosts, request.port);
  auto open = open_at(at);
  if (open.allow == kNoRuleIndex) {
    if (open.deny != kNoRuleIndex)
      deny(verdict, policy, ReasonCode::kDeniedByRule, open.deny, kNoRuleIndex);
    else
      parts::deny_unmentioned(verdict, policy, request.target, hosts);
    return verdict;
  }
  if (parts::is_floor(request.target)) {
    deny(verdict, policy, ReasonCode::kFloor, kNoRuleIndex, kNoRuleIndex);
    return verdict;
  }
  verdict.reason = ReasonCode::kAllowed;
  verdict.rule = ref(policy, open.allow);
  verdict.treatment = treatment_of(policy.rules()[open.allow].scheme);
  return verdict;
}

}  // namespace own
}  // namespace sallyport::policy
