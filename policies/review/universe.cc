#include "policies/review/universe.h"

#include <algorithm>
#include <map>
#include <set>

#include "policies/engine/rule_index.h"

namespace sallyport::policy::review {
namespace {

void take(HostView& out, const CompiledPolicy& policy, const Target& host) {
  HostMatches hosts;
  policy.index().match(host, hosts);
  std::vector<std::uint32_t> found;
  auto add = [&](std::uint32_t rule) {
    if (rule != kNoRuleIndex) found.push_back(rule);
  };
  for (const HostRules* rules : hosts) {
    for (const PortRules& at : rules->ports) {
      add(at.opaque_allow);
      add(at.whole_deny);
      for (const auto& entry : at.allow.entries()) add(entry.rule);
      for (const auto& entry : at.deny.entries()) add(entry.rule);
    }
  }
  std::ranges::sort(found);
  for (auto rule : found) out.rules.push_back({&policy.rules()[rule], &policy.index().terms(rule)});
}

// A name below the apex that no pattern but wildcards above it is about; nothing when there is none.
class Fresh {
 public:
  explicit Fresh(const std::set<std::string>& written) : written_(written) {}

  // More labels than names that are written: one of them is free, if they are not too long for this apex.
  std::optional<Target> below(const HostName& apex) const {
    for (std::size_t n = 0; n <= written_.size(); ++n) {
      std::string name = label(n) + "." + std::string(apex.text());
      if (name.size() > HostName::kMaxLength && n > 0) break;  // no shorter ones follow
      if (name.size() > HostName::kMaxLength || written_.contains(name)) continue;
      if (auto parsed = HostName::parse(name)) return Target(std::move(parsed).value());
    }
    return std::nullopt;
  }

 private:
  static std::string label(std::size_t n) {
    if (n == 0) return "any";
    std::string out;
    for (--n;; n /= 36) {
      out += "abcdefghijklmnopqrstuvwxyz0123456789"[n % 36];
      if (n < 36) return out;
    }
  }

  const std::set<std::string>& written_;
};

void patterns_of(const CompiledPolicy& policy, std::vector<HostPattern>& out) {
  for (std::uint32_t i = 0; i < policy.index().size(); ++i) out.push_back(policy.index().terms(i).host);
}

bool same_request(const RequestTerms* a, const RequestTerms* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->covers(*b) && b->covers(*a);
}

bool same_rule(const HostView::Entry& a, const HostView::Entry& b) {
  return a.rule->action == b.rule->action && a.rule->text == b.rule->text && a.rule->limits == b.rule->limits &&
         a.rule->ech == b.rule->ech && a.rule->dns == b.rule->dns &&
         same_request(a.terms->request.get(), b.terms->request.get());
}

}  // namespace

HostView HostView::of(const CompiledPolicy& policy, const Target& host) {
  HostView out;
  take(out, policy, host);
  out.own = out.rules.size();
  if (policy.ceiling() != nullptr) take(out, *policy.ceiling(), host);
  return out;
}

std::vector<Port> HostView::ports() const {
  std::vector<Port> out;
  for (const Entry& entry : rules) out.push_back(entry.terms->port);
  std::ranges::sort(out);
  auto doubles = std::ranges::unique(out);
  out.erase(doubles.begin(), doubles.end());
  return out;
}

HostView HostView::at(Port port) const {
  HostView out;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].terms->port != port) continue;
    out.rules.push_back(rules[i]);
    if (i < own) out.own = out.rules.size();
  }
  return out;
}

bool HostView::same_as(const HostView& other) const {
  return own == other.own && std::ranges::equal(rules, other.rules, same_rule);
}

Hosts hosts_of(const CompiledPolicy& a, const CompiledPolicy& b) {
  std::vector<HostPattern> patterns;
  for (const CompiledPolicy* policy : {&a, &b, a.ceiling(), b.ceiling()})
    if (policy != nullptr) patterns_of(*policy, patterns);
  std::set<std::string> written, apexes;
  Hosts out;
  for (const HostPattern& pattern : patterns) {
    if (!written.insert(pattern.target().text()).second) continue;
    // An apex is a name too: wildcards above it may match it.
    out.targets.push_back(pattern.target());
  }
  Fresh fresh(written);
  for (const HostPattern& pattern : patterns) {
    const std::string apex = pattern.target().text();
    if (!pattern.is_wildcard() || !apexes.insert(apex).second) continue;
    if (auto name = fresh.below(*pattern.target().host()))
      out.targets.push_back(*std::move(name));
    else if (apex.size() + 2 <= HostName::kMaxLength)  // a label of one byte, a dot
      out.without.push_back(apex);
  }
  return out;
}

std::vector<std::string_view> methods_of(const HostView& a, const HostView& b) {
  std::set<std::vector<bool>> seen;
  std::vector<std::string_view> out;
  for (auto text : known_methods()) {
    auto method = MethodSet::of(text);
    if (!method) continue;
    std::vector<bool> kind;
    for (const HostView* view : {&a, &b})
      for (const auto& entry : view->rules) kind.push_back(entry.terms->methods.holds(*method));
    if (seen.insert(std::move(kind)).second) out.push_back(text);
  }
  return out;
}

}  // namespace sallyport::policy::review
