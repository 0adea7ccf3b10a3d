#include "policies/engine/rule_checks.h"

#include <algorithm>

#include "policies/engine/port_matches.h"

namespace sallyport::policy {
namespace {

std::string named(const Rule& rule) {
  return rule.id + (rule.origin.empty() ? " in line " : ", used in line ") + std::to_string(rule.line);
}

std::uint32_t covering_allow(const PortMatches& at, const RuleTerms& terms) {
  if (terms.is_opaque()) return at.opaque_allow();
  static const RequestTerms kNone;
  PathTokens tokens = terms.path->tokens();
  std::uint32_t first = kNoRuleIndex;
  PathRules::Probe probe{tokens, terms.methods, {}, nullptr, terms.request ? terms.request.get() : &kNone};
  for (const PortRules* rules : at.all()) first = std::min(first, rules->allow.find(probe).match);
  return first;
}

// One rule against those whose host pattern holds its own; every pair of overlapping patterns meets at the narrower
// one.
class RuleCheck {
 public:
  RuleCheck(const PolicyBuilder& all, std::uint32_t rule, std::span<const Position> places, Reporter& reporter)
      : all_(all), rule_(rule), places_(places), reporter_(reporter) {}

  void run() {
    const RuleTerms& terms = all_.index().terms(rule_);
    HostMatches hosts;
    all_.index().match_covering(terms.host, hosts);
    PortMatches at(all_.index(), hosts, terms.port);
    if (all_.index().action(rule_) == Action::kAllow)
      allow(at, terms);
    else if (!terms.is_whole())
      partial_deny(at);
  }

 private:
  const Rule& rule(std::uint32_t index) const { return all_.rules()[index]; }

  void report(std::uint32_t other, std::string message, std::string advice) {
    reporter_.error(places_[std::max(rule_, other)], std::move(message), rule(std::max(rule_, other)).text,
                    std::move(advice));
  }

  void allow(const PortMatches& at, const RuleTerms& terms) {
    // Taking a part of a catalogue entry away is what denials beside it are for.
    if (auto deny = at.deny_covering(terms); deny != kNoRuleIndex && rule(rule_).origin.empty()) {
      reporter_.error(
          places_[rule_],
          "this rule can never match: " + named(rule(deny)) + " denies all of it, and a deny wins wherever it stands",
          rule(rule_).text, "one of the two");
      return;
    }
    if (!terms.is_opaque()) {
      if (auto tunnel = at.opaque_allow(); tunnel != kNoRuleIndex) overlap(tunnel);
      return;
    }
    std::uint32_t readable = kNoRuleIndex;
    for (const PortRules* rules : at.all())
      if (!rules->allow.empty()) readable = std::min(readable, rules->allow.entries().front().rule);
    if (readable != kNoRuleIndex) overlap(readable);
    if (auto partial = at.partial_deny(); partial != kNoRuleIndex) unreadable(partial);
  }

  void partial_deny(const PortMatches& at) {
    if (auto tunnel = at.opaque_allow(); tunnel != kNoRuleIndex && !same_place(tunnel)) unreadable(tunnel);
  }

  // With the very same host pattern the pair was seen from the tunnel's side already.
  bool same_place(std::uint32_t other) const {
    const HostPattern& a = all_.index().terms(rule_).host;
    const HostPattern& b = all_.index().terms(other).host;
    return a.is_wildcard() == b.is_wildcard() && a.target() == b.target();
  }

  void overlap(std::uint32_t other) {
    bool seen_twice = same_place(other) && other > rule_;
    if (seen_twice) return;
    report(other,
           "a readable and an opaque rule on one host and port: " + named(rule(std::min(rule_, other))) +
               " and this one; a connection can be only one of them",
           "one of the two, or another port");
  }

  void unreadable(std::uint32_t other) {
    report(other,
           "a tunnel and a denial that looks at methods or paths, on one host and port: " +
               named(rule(std::min(rule_, other))) + " and this one; a tunnel is not read",
           "a denial of the whole port, or http:// instead of the tunnel");
  }

  const PolicyBuilder& all_;
  std::uint32_t rule_;
  std::span<const Position> places_;
  Reporter& reporter_;
};

}  // namespace

void check_covered(const PolicyBuilder& earlier, const Rule& rule, const RuleTerms& terms, Position at,
                   Reporter& reporter) {
  HostMatches hosts;
  earlier.index().match_covering(terms.host, hosts);
  PortMatches here(earlier.index(), hosts, terms.port);
  if (here.empty()) return;
  auto covering = rule.action == Action::kAllow ? covering_allow(here, terms) : here.deny_covering(terms);
  if (covering == kNoRuleIndex) return;
  const Rule& first = earlier.rules()[covering];
  std::string advice = "the policy without this rule";
  if (rule.action == Action::kAllow) advice += ", or this rule before line " + std::to_string(first.line);
  reporter.error(at, "this rule never decides: " + named(first) + " comes first and covers all of it", rule.text,
                 std::move(advice));
}

void check_together(const PolicyBuilder& all, std::span<const Position> places, Reporter& reporter) {
  for (std::uint32_t rule = 0; rule < all.index().size(); ++rule) RuleCheck(all, rule, places, reporter).run();
}

}  // namespace sallyport::policy
