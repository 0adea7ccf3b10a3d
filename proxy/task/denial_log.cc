#include "proxy/task/denial_log.h"

#include <algorithm>
#include <utility>

#include "policies/engine/advice.h"

namespace sallyport::proxy {
namespace {

// Only what no rule allowed is changed by one more rule. What was denied for its query or body is not: a rule that says
// nothing of them would void what others say, and explain has the policy.
bool one_rule_helps(policy::ReasonCode reason) {
  using enum policy::ReasonCode;
  switch (reason) {
    case kNoPolicy:
    case kNoRule:
    case kPortNotAllowed:
    case kLiteralNotAllowed:
    case kMethodNotAllowed:
    case kPathNotAllowed:
    case kTunnelOnly:
      return true;
    default:
      return false;
  }
}

std::optional<std::string> rule_of(const DenialEntry& entry) {
  if (!entry.target || !one_rule_helps(entry.reason)) return std::nullopt;
  Port port = Port::of(entry.port == 0 ? 443 : entry.port);
  if (entry.path.empty()) return policy::rule_for(policy::ConnectionRequest{*entry.target, port});
  auto path = policy::CanonicalPath::parse(std::string_view(entry.path).substr(0, entry.path.find_first_of("?#")));
  if (!path) return std::nullopt;
  return policy::rule_for(policy::HttpRequest{*entry.target, port, entry.method, path.value(), {}});
}

}  // namespace

const std::string& DenialEntry::rule() const {
  if (!known_rule) known_rule = rule_of(*this).value_or(std::string());
  return *known_rule;
}

void DenialLog::add(DenialEntry entry) {
  ++total_;
  for (auto& known : entries_) {
    if (known.what != entry.what || known.reason != entry.reason) continue;
    ++known.count;
    known.decision = std::move(entry.decision);
    return;
  }
  entries_.push_front(std::move(entry));
  if (entries_.size() <= kKept) return;
  // The oldest of those that were counted least; never the one that has just come.
  auto least = std::ranges::min_element(entries_.rbegin(), entries_.rend() - 1, {}, &DenialEntry::count);
  entries_.erase(std::next(least).base());
}

}  // namespace sallyport::proxy
