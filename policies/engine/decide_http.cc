#include <algorithm>

#include "policies/engine/decide_own.h"
#include "policies/engine/decide_parts.h"

namespace sallyport::policy {
namespace {

// The method of a request and those that its fields would have the server read instead.
struct Methods {
  std::optional<MethodSet> line;
  std::vector<MethodSet> overriding;
  bool unreadable = false;  // an overriding method that no rule can name

  explicit Methods(const HttpRequest& request) : line(MethodSet::of(request.method)) {
    unreadable = request.overrides.too_many();
    for (auto text : request.overrides.methods()) {
      std::string upper(text.substr(0, 32));
      for (char& c : upper)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
      if (auto method = MethodSet::of(upper))
        overriding.push_back(*method);
      else
        unreadable = true;
    }
  }
};

// One request against the rules for its host and port, which are known not to be closed and to hold http allow rules.
class Matching {
 public:
  Matching(const HttpRequest& request, const PortMatches& at) : request_(request), at_(at), methods_(request) {
    tokens_.reserve(16);
    split_path(request.path.text(), tokens_);
  }

  // A denial that applies, and why; kAllowed if none does.
  ReasonCode denial(std::uint32_t& rule) {
    rule = kNoRuleIndex;
    if (at_.partial_deny() == kNoRuleIndex) return ReasonCode::kAllowed;
    std::string loose = loosened(request_.path.text());
    PathTokens loose_tokens;
    split_path(loose, loose_tokens);
    if (methods_.line && denies(loose_tokens, *methods_.line, rule))
      return rule_looks_at_ambiguous_ ? ReasonCode::kPathAmbiguous : ReasonCode::kDeniedByRule;
    for (MethodSet method : methods_.overriding)
      if (denies(loose_tokens, method, rule)) return ReasonCode::kMethodOverride;
    return ReasonCode::kAllowed;
  }

  // The first allow rule that matches by the method of the request line; `nearest` if none does.
  std::uint32_t allowing(std::uint32_t& nearest, ReasonCode& reason) const {
    bool ambiguous = request_.path.ambiguous();
    PathRules::Found found;
    std::uint32_t by_path = kNoRuleIndex, first = kNoRuleIndex;
    PathRules::Probe probe{tokens_, methods_.line.value_or(MethodSet::all()), request_.query, &request_.body};
    for (const PortRules* rules : at_.all()) {
      if (rules->allow.empty()) continue;
      first = std::min(first, rules->allow.entries().front().rule);
      by_path = std::min(by_path, rules->allow.find_by_path(probe.methods));
      join(found, ambiguous ? rules->allow.find_everywhere(probe) : rules->allow.find(probe));
    }
    if (methods_.line && found.match != kNoRuleIndex) return found.match;
    reason = why_not(found, ambiguous && by_path != kNoRuleIndex);
    nearest = nearest_of(found, by_path, first);
    return kNoRuleIndex;
  }

  bool overrides_within(MethodSet allowed) const {
    if (methods_.unreadable) return false;
    return std::ranges::all_of(methods_.overriding, [&](MethodSet m) { return allowed.holds(m); });
  }
  // A denial has this path and another method: methods matter here.
  bool denial_by_method() const noexcept { return denial_by_method_; }

 private:
  static void join(PathRules::Found& into, const PathRules::Found& more) {
    into.match = std::min(into.match, more.match);
    into.path_only = std::min(into.path_only, more.path_only);
    into.but_query = std::min(into.but_query, more.but_query);
    into.but_body = std::min(into.but_body, more.but_body);
  }

  // The last thing that a rule objected to.
  ReasonCode why_not(const PathRules::Found& found, bool ambiguous) const {
    if (!methods_.line) return ReasonCode::kMethodNotAllowed;
    if (found.but_body != kNoRuleIndex) return ReasonCode::kContentTypeNotAllowed;
    if (found.but_query != kNoRuleIndex) return ReasonCode::kQueryNotAllowed;
    if (found.path_only != kNoRuleIndex) return ReasonCode::kMethodNotAllowed;
    return ambiguous ? ReasonCode::kPathAmbiguous : ReasonCode::kPathNotAllowed;
  }

  std::uint32_t nearest_of(const PathRules::Found& found, std::uint32_t by_path, std::uint32_t first) const {
    for (std::uint32_t rule : {found.but_body, found.but_query, found.path_only})
      if (rule != kNoRuleIndex) return rule;
    return methods_.line && by_path != kNoRuleIndex ? by_path : first;
  }

  bool denies(const PathTokens& loose_tokens, MethodSet method, std::uint32_t& rule) {
    for (const PortRules* rules : at_.all()) {
      if (rules->deny.empty()) continue;
      auto found = rules->deny.find({loose_tokens, method});
      if (found.path_only != kNoRuleIndex) denial_by_method_ = true;
      if (found.match != kNoRuleIndex && found.match < rule) {
        rule = found.match;
        rule_looks_at_ambiguous_ = false;
      }
      if (!request_.path.ambiguous() || rule != kNoRuleIndex) continue;
      rule = rules->deny.find_by_path(method);
      rule_looks_at_ambiguous_ = rule != kNoRuleIndex;
    }
    return rule != kNoRuleIndex;
  }

  const HttpRequest& request_;
  const PortMatches& at_;
  Methods methods_;
  PathTokens tokens_;
  bool denial_by_method_ = false;
  bool rule_looks_at_ambiguous_ = false;
};

// True if there is nothing to match the request against; the verdict then says why.
bool closed(HttpVerdict& verdict, const CompiledPolicy& policy, const HttpRequest& request, const HostMatches& hosts,
            const PortMatches& at) {
  if (auto whole = at.whole_deny(); whole != kNoRuleIndex) {
    parts::deny(verdict, policy, ReasonCode::kDeniedByRule, whole, kNoRuleIndex);
    return true;
  }
  if (at.has_http_allow()) return false;
  if (auto tunnel = at.opaque_allow(); tunnel != kNoRuleIndex)
    parts::deny(verdict, policy, ReasonCode::kTunnelOnly, kNoRuleIndex, tunnel);
  else
    parts::deny_unmentioned(verdict, policy, request.target, hosts);
  return true;
}

}  // namespace

namespace own {

HttpVerdict http(const CompiledPolicy& policy, const HttpRequest& request) {
  HttpVerdict verdict;
  HostMatches hosts;
  policy.index().match(request.target, hosts);
  PortMatches at(policy.index(), hosts, request.port);
  if (closed(verdict, policy, request, hosts, at)) return verdict;

  Matching matching(request, at);
  std::uint32_t denying = kNoRuleIndex, nearest = kNoRuleIndex;
  if (auto reason = matching.denial(denying); reason != ReasonCode::kAllowed) {
    parts::deny(verdict, policy, reason, denying, kNoRuleIndex);
    return verdict;
  }
  ReasonCode reason = ReasonCode::kInternal;
  auto allowing = matching.allowing(nearest, reason);
  if (allowing == kNoRuleIndex) {
    parts::deny(verdict, policy, reason, kNoRuleIndex, nearest);
    return verdict;
  }
  MethodSet methods = policy.index().terms(allowing).methods;
  bool limits = methods != MethodSet::all() || matching.denial_by_method();
  if (!matching.overrides_within(methods) || (limits && names_method_key(request.query))) {
    parts::deny(verdict, policy, ReasonCode::kMethodOverride, kNoRuleIndex, allowing);
    return verdict;
  }
  if (parts::is_floor(request.target)) {
    parts::deny(verdict, policy, ReasonCode::kFloor, kNoRuleIndex, kNoRuleIndex);
    return verdict;
  }
  verdict.reason = ReasonCode::kAllowed;
  verdict.rule = parts::ref(policy, allowing);
  verdict.limits_methods = limits;
  return verdict;
}

}  // namespace own

}  // namespace sallyport::policy
