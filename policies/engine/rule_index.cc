#include "policies/engine/rule_index.h"

#include <algorithm>

namespace sallyport::policy {
namespace {

void keep_first(std::uint32_t& slot, std::uint32_t rule) noexcept { slot = std::min(slot, rule); }

void place(PortRules& at, Action action, const RuleTerms& terms, std::uint32_t rule) {
  if (action == Action::kAllow) {
    if (terms.is_opaque())
      keep_first(at.opaque_allow, rule);
    else
      at.allow.add({&*terms.path, terms.methods, rule, terms.request.get()});
  } else if (terms.is_whole()) {
    keep_first(at.whole_deny, rule);
  } else {
    at.deny.add({&*terms.loose_path, terms.methods, rule});
  }
}

}  // namespace

const PortRules* HostRules::at(Port port) const noexcept {
  auto found = std::ranges::lower_bound(ports, port, {}, &PortRules::port);
  return found != ports.end() && found->port == port ? &*found : nullptr;
}

PortRules& HostRules::make(Port port) {
  auto found = std::ranges::lower_bound(ports, port, {}, &PortRules::port);
  if (found == ports.end() || found->port != port) found = ports.emplace(found, port);
  return *found;
}

void RuleIndex::reserve(std::size_t rules) {
  actions_.reserve(rules);
  exact_.reserve(rules);
}

void RuleIndex::add(Action action, RuleTerms terms, bool grants_dns) {
  auto rule = static_cast<std::uint32_t>(terms_.size());
  if (action == Action::kDeny && terms.path) terms.loose_path = terms.path->for_denial();
  const RuleTerms& kept = terms_.emplace_back(std::move(terms));
  actions_.push_back(action);
  HostRules& host = rules_for(kept.host);
  place(host.make(kept.port), action, kept, rule);
  if (action == Action::kAllow) keep_first(host.first_allow, rule);
  if (grants_dns) host.granting.push_back(rule);
}

HostRules& RuleIndex::rules_for(const HostPattern& host) {
  if (const IpAddress* address = host.target().address()) return literal_[*address];
  std::string name(host.target().host()->text());
  return host.is_wildcard() ? below_[std::move(name)] : exact_[std::move(name)];
}

void RuleIndex::collect(const Target& target, bool wildcard, HostMatches& out) const noexcept {
  if (const IpAddress* address = target.address()) {
    if (auto found = literal_.find(*address); found != literal_.end()) out.push(found->second);
    return;
  }
  std::string_view name = target.host()->text();
  const auto& own = wildcard ? below_ : exact_;
  if (auto found = own.find(name); found != own.end()) out.push(found->second);
  if (below_.empty()) return;
  for (auto dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1))
    if (auto found = below_.find(name.substr(dot + 1)); found != below_.end()) out.push(found->second);
}

}  // namespace sallyport::policy
