// For tests of this folder: short ways to load and to ask.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policies/engine/decide.h"
#include "policies/engine/load.h"

namespace sallyport::policy::testing {

inline std::string all_text(const LoadOutcome& outcome) {
  std::string out;
  for (const Diagnostic& d : outcome.diagnostics) out += render(d);
  return out;
}

// A policy of these rules, one a line: "allow: tls://a.test".
inline LoadOutcome load_rules(const std::vector<std::string>& rules) {
  std::string text = "policy: test/1\nrules:\n";
  for (const auto& rule : rules) text += "  - " + rule + "\n";
  return load(text, "test.yaml");
}

// The same, which must load.
inline std::shared_ptr<const CompiledPolicy> policy_of(const std::vector<std::string>& rules) {
  auto outcome = load_rules(rules);
  EXPECT_TRUE(outcome.policy) << all_text(outcome);
  return outcome.policy ? outcome.policy : deny_all();
}

inline HostName name(std::string_view text) { return HostName::parse(text).value(); }

inline ReasonCode ask_name(const CompiledPolicy& policy, std::string_view host) {
  return decide_name(policy, name(host)).reason;
}

inline ReasonCode ask_connection(const CompiledPolicy& policy, std::string_view host, std::uint16_t port) {
  return decide_connection(policy, {Target::parse(host).value(), Port::of(port)}).reason;
}

// `target` is an origin-form; kMalformed when it is none.
inline HttpVerdict verdict_http(const CompiledPolicy& policy, std::string_view method, std::string_view host,
                                std::string_view target, MethodOverrides overrides = {}, std::uint16_t port = 80) {
  auto canonical = CanonicalTarget::parse(target);
  HttpVerdict verdict;
  verdict.reason = ReasonCode::kMalformed;
  if (!canonical) return verdict;
  const CanonicalTarget& t = canonical.value();
  return decide_http(policy, {Target::parse(host).value(), Port::of(port), method, t.path, t.query, overrides});
}

inline ReasonCode ask_http(const CompiledPolicy& policy, std::string_view method, std::string_view host,
                           std::string_view target, MethodOverrides overrides = {}, std::uint16_t port = 80) {
  return verdict_http(policy, method, host, target, overrides, port).reason;
}

}  // namespace sallyport::policy::testing
