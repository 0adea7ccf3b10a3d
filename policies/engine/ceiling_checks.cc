#include "policies/engine/ceiling_checks.h"

#include <algorithm>
#include <map>
#include <optional>

#include "policies/engine/load.h"
#include "policies/engine/port_matches.h"

namespace sallyport::policy {
namespace {

// Whether a rule of scheme `above` lets through what one of scheme `scheme` allows.
bool carries(Scheme above, Scheme scheme) { return above == scheme || above == Scheme::kTcp; }

class WithinCheck {
 public:
  WithinCheck(const PolicyBuilder& all, const CompiledPolicy& ceiling, std::span<const Position> places, Reporter& reporter)
      : all_(all), ceiling_(ceiling), places_(places), reporter_(reporter) {}

  void check(std::uint32_t rule) {
    const RuleTerms& terms = all_.index().terms(rule);
    HostMatches hosts;
    ceiling_.index().match_covering(terms.host, hosts);
    PortMatches at(ceiling_.index(), hosts, terms.port);
    if (auto deny = at.deny_covering(terms); deny != kNoRuleIndex) return never(rule, deny);
    nearest_ = kNoRuleIndex;
    dns_ = DnsGrant{};
    passes_ = ech_ = false;
    for (const PortRules* rules : at.all()) look_at(*rules, terms);
    for (const HostRules* host : hosts) add_dns(*host, terms);
    if (terms.host.is_wildcard()) look_below(terms);
    if (!passes_) return never(rule, nearest_);
    check_grants(rule);
  }

 private:
  static std::string named(const Rule& rule) {
    return rule.id + (rule.origin.empty() ? " in line " : ", used in line ") + std::to_string(rule.line);
  }

  // An entry of the catalogue is used as a whole, and a ceiling may take a part of it away.
  void report(std::uint32_t rule, std::string message, std::string advice) {
    const Rule& own = all_.rules()[rule];
    if (own.origin.empty())
      reporter_.error(places_[rule], std::move(message), own.text, std::move(advice));
    else
      reporter_.warning(places_[rule], std::move(message), own.text, std::move(advice));
  }

  void never(std::uint32_t rule, std::uint32_t because) {
    std::string message = all_.rules()[rule].origin.empty() ? "this rule" : all_.rules()[rule].id;
    message += " lets nothing through: " + ceiling_.label() + ", which this policy is within, ";
    if (because == kNoRuleIndex) return report(rule, message + "has no rule for it", "the policy without this rule");
    const Rule& above = ceiling_.rules()[because];
    bool denied = above.action == Action::kDeny;
    report(rule, message + (denied ? "denies all of it with " : "allows nothing of it; nearest is ") + named(above),
           denied ? "the policy without this rule" : "a part of: " + quoted(above.text));
  }

  void look_at(const PortRules& rules, const RuleTerms& terms) {
    if (rules.opaque_allow != kNoRuleIndex) {
      const Rule& above = ceiling_.rules()[rules.opaque_allow];
      see(rules.opaque_allow, carries(above.scheme, terms.scheme));
    }
    if (terms.is_opaque()) {
      if (!rules.allow.empty()) see(rules.allow.entries().front().rule, false);
      return;
    }
    if (passes_) return;
    for (const PathRules::Entry& entry : rules.allow.entries()) {
      see(entry.rule, entry.methods.meets(terms.methods) && entry.pattern->meets(*terms.path));
      if (passes_) return;
    }
  }

  void see(std::uint32_t above, bool passes) {
    nearest_ = std::min(nearest_, above);
    passes_ = passes_ || passes;
    ech_ = ech_ || (passes && (ceiling_.rules()[above].ech == Ech::kAllow || ceiling_.rules()[above].scheme == Scheme::kTcp));
  }

  void add_dns(const HostRules& host, const RuleTerms&) {
    for (std::uint32_t rule : host.granting) add_dns(ceiling_.rules()[rule].dns);
  }
  void add_dns(const DnsGrant& grant) {
    dns_.real = dns_.real || grant.real;
    dns_.types.insert(dns_.types.end(), grant.types.begin(), grant.types.end());
    std::ranges::sort(dns_.types);
  }

  // A wildcard may be wider than what the ceiling names below it: any rule there lets some of it through.
  void look_below(const RuleTerms& terms) {
    if (!below_) index_below();
    auto found = below_->find(terms.host.target().host()->text());
    if (found == below_->end()) return;
    for (std::uint32_t above : found->second) {
      const RuleTerms& other = ceiling_.terms(above);
      if (other.port != terms.port) continue;
      bool passes = carries(other.scheme, terms.scheme) &&
                    (terms.is_opaque() || other.is_opaque() ||
                     (other.methods.meets(terms.methods) && other.path->meets(*terms.path)));
      see(above, passes);
      add_dns(ceiling_.rules()[above].dns);
    }
  }

  // The ceiling's allow rules by every name that theirs are below.
  void index_below() {
    below_.emplace();
    for (const Rule& rule : ceiling_.rules()) {
      const HostName* host = ceiling_.terms(rule.index).host.target().host();
      if (rule.action != Action::kAllow || host == nullptr) continue;
      std::string_view name = host->text();
      for (auto dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1))
        (*below_)[std::string(name.substr(dot + 1))].push_back(rule.index);
    }
  }

  void check_grants(std::uint32_t rule) {
    const Rule& own = all_.rules()[rule];
    if (own.ech == Ech::kAllow && !ech_)
      report(rule, "ech: allow has no effect: " + ceiling_.label() + ", which this policy is within, refuses it",
             "the rule without ech:");
    bool granted = (!own.dns.real || dns_.real) && std::ranges::includes(dns_.types, own.dns.types);
    if (!granted)
      report(rule, "dns has no effect: " + ceiling_.label() + ", which this policy is within, does not grant all of it",
             "what the ceiling grants too");
  }

  const PolicyBuilder& all_;
  const CompiledPolicy& ceiling_;
  std::span<const Position> places_;
  Reporter& reporter_;
  std::optional<std::map<std::string, std::vector<std::uint32_t>, std::less<>>> below_;
  std::uint32_t nearest_ = kNoRuleIndex;
  bool passes_ = false;
  bool ech_ = false;
  DnsGrant dns_;
};

}  // namespace

void check_within(const PolicyBuilder& all, const CompiledPolicy& ceiling, std::span<const Position> places,
                  Reporter& reporter) {
  WithinCheck check(all, ceiling, places, reporter);
  for (std::uint32_t rule = 0; rule < all.index().size(); ++rule)
    if (all.index().action(rule) == Action::kAllow) check.check(rule);
}

std::vector<Diagnostic> ceiling_faults(const CompiledPolicy& policy, std::string_view file_name) {
  Reporter reporter(file_name);
  for (const Rule& rule : policy.rules())
    if (rule.limits != Limits{})
      reporter.error({rule.line, 1}, "a policy that others stay within has no limits of rules, which nothing would count: " + rule.id,
                     rule.text, "budgets:, which hold for every policy within it");
  if (policy.ceiling() != nullptr)
    reporter.error({}, "a policy that others stay within has none above itself", {}, "the policy without within:");
  return reporter.take();
}

}  // namespace sallyport::policy
