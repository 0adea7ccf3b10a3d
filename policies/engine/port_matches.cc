#include "policies/engine/port_matches.h"

#include <algorithm>

namespace sallyport::policy {

PortMatches::PortMatches(const RuleIndex& index, const HostMatches& hosts, Port port) noexcept : index_(index) {
  for (const HostRules* host : hosts)
    if (const PortRules* rules = host->at(port)) found_[size_++] = rules;
}

std::uint32_t PortMatches::whole_deny() const noexcept {
  std::uint32_t first = kNoRuleIndex;
  for (const PortRules* rules : all()) first = std::min(first, rules->whole_deny);
  return first;
}

std::uint32_t PortMatches::opaque_allow() const noexcept {
  std::uint32_t first = kNoRuleIndex;
  for (const PortRules* rules : all()) first = std::min(first, rules->opaque_allow);
  return first;
}

bool PortMatches::has_http_allow() const noexcept {
  return std::ranges::any_of(all(), [](const PortRules* rules) { return !rules->allow.empty(); });
}

std::uint32_t PortMatches::partial_deny() const noexcept {
  std::uint32_t first = kNoRuleIndex;
  for (const PortRules* rules : all())
    if (!rules->deny.empty()) first = std::min(first, rules->deny.entries().front().rule);
  return first;
}

std::uint32_t PortMatches::deny_covering(const RuleTerms& allow) const {
  if (auto whole = whole_deny(); whole != kNoRuleIndex) return whole;
  if (allow.is_opaque()) return kNoRuleIndex;
  if (partial_deny() == kNoRuleIndex) return kNoRuleIndex;
  PathPattern loose = allow.path->loosened();
  PathTokens tokens = loose.tokens();
  std::uint32_t first = kNoRuleIndex;
  for (const PortRules* rules : all()) first = std::min(first, rules->deny.find({tokens, allow.methods}).match);
  return first;
}

PortMatches::Open PortMatches::first_open() const {
  Open open;
  for (const PortRules* rules : all()) {
    for (const PathRules::Entry& entry : rules->allow.entries()) {
      if (entry.rule > open.allow) break;
      auto deny = deny_covering(index_.terms(entry.rule));
      if (deny == kNoRuleIndex) {
        open.allow = entry.rule;
        break;
      }
      open.deny = std::min(open.deny, deny);
    }
  }
  return open;
}

}  // namespace sallyport::policy
