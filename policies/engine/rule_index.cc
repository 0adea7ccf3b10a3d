#include "policies/engine/rule_index.h"

#include <algorithm>

namespace sallyport::policy {
namespace {

void keep_first(std::uint32_t& slot, std::uint32_t rule) noexcept { slot = std::min(slot, rule); }

bool place(PortRules& at, Action action, const RuleTerms& terms, std::uint32_t rule) {
  if (action == Action::kAllow) {
    if (terms.is_opaque())
      keep_first(at.opaque_allow, rule);
    else
      return at.allow.add({&*terms.path, terms.methods, rule, terms.request.get()});
  } else if (terms.is_whole()) {
    keep_first(at.whole_deny, rule);
  } else {
    return at.deny.add({&*terms.loose_path, terms.methods, rule});
  }
  return true;
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

bool RuleIndex::add(Action action, RuleTerms terms, bool grants_dns) {
  auto rule = static_cast<std::uint32_t>(terms_.size());
  if (action == Action::kDeny && terms.path) terms.loose_path = terms.path->for_denial();
  const RuleTerms& kept = terms_.emplace_back(std::move(terms));
  actions_.push_back(action);
  HostRules& host = rules_for(kept.host);
  bool fits = place(host.make(kept.port), action, kept, rule);
  if (action == Action::kAllow) keep_first(host.first_allow, rule);
  if (grants_dns) host.granting.push_back(rule);
  return fits;
}

HostRules& RuleIndex::rules_for(const HostPattern& host) {
  if (const IpAddress* address = host.target().address()) return literal_[*address];
  FlatIndex& index = host.is_wildcard() ? below_ : exact_;
  std::string_view name = host.target().host()->text();
  auto hash = SuffixHash::of(name);
  if (const HostRules* known = find(index, hash, name)) return const_cast<HostRules&>(*known);
  index.insert(hash, static_cast<std::uint32_t>(hosts_.size()));
  HostRules& fresh = hosts_.emplace_back();
  fresh.name = name;
  return fresh;
}

const HostRules* RuleIndex::find(const FlatIndex& index, std::uint64_t hash, std::string_view name) const noexcept {
  auto found = index.find(hash, [&](std::uint32_t host) { return hosts_[host].name == name; });
  return found == FlatIndex::kNone ? nullptr : &hosts_[found];
}

void RuleIndex::collect(const Target& target, bool wildcard, HostMatches& out) const noexcept {
  if (const IpAddress* address = target.address()) {
    if (auto found = literal_.find(*address); found != literal_.end()) out.push(found->second);
    return;
  }
  std::string_view name = target.host()->text();
  std::array<const HostRules*, 128> above;
  std::size_t size = 0;
  SuffixHash hash;
  for (auto at = name.size(); at-- > 0; hash.prepend(name[at])) {
    if (name[at] != '.' || below_.empty()) continue;
    if (const HostRules* found = find(below_, hash.value(), name.substr(at + 1))) above[size++] = found;
  }
  if (const HostRules* own = find(wildcard ? below_ : exact_, hash.value(), name)) out.push(*own);
  while (size > 0) out.push(*above[--size]);
}

}  // namespace sallyport::policy
