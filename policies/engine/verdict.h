// Verdicts: what the policy says to a name, a connection, a request. And ApprovedDestination, the only thing that can
// be dialled.
#pragma once

#include <optional>

#include "policies/engine/reason.h"
#include "policies/engine/request.h"
#include "policies/engine/rule.h"

namespace sallyport::policy {

class CompiledPolicy;
struct ConnectionVerdict;
struct HttpVerdict;

// A destination that the policy has allowed. Cannot be made except by decide_connection and decide_http, so that
// dialling without a decision does not compile. Copyable; its RuleRef borrows from the policy that decided.
class ApprovedDestination {
 public:
  const Target& target() const noexcept { return target_; }
  Port port() const noexcept { return port_; }
  Treatment treatment() const noexcept { return treatment_; }
  // The allow rule that decided: its limits apply.
  const RuleRef& rule() const noexcept { return rule_; }

 private:
  friend ConnectionVerdict decide_connection(const CompiledPolicy&, const ConnectionRequest&);
  friend HttpVerdict decide_http(const CompiledPolicy&, const HttpRequest&);
  ApprovedDestination(Target target, Port port, Treatment treatment, RuleRef rule)
      : target_(std::move(target)), port_(port), treatment_(treatment), rule_(rule) {}

  Target target_;
  Port port_;
  Treatment treatment_;
  RuleRef rule_;
};

// Common to all verdicts. A fresh one denies.
struct Verdict {
  ReasonCode reason = ReasonCode::kInternal;
  std::optional<RuleRef> rule;  // the rule that decided; absent when none matched
  std::optional<RuleRef>
      nearest;  // on a denial without such a rule: the allow rule that came closest, if any names the host

  std::optional<ReasonCode> ceiling_reason;  // on a denial with kNotWithinCeiling: what the ceiling says
  std::optional<RuleRef> ceiling_rule;       // and its rule, borrowed from the ceiling; absent when none matched

  bool allowed() const noexcept { return reason == ReasonCode::kAllowed; }
};

// May the task learn and use this name at all?
struct NameVerdict : Verdict {
  // Meaningful only when allowed: the name is answered with its true addresses (`dns: real`).
  bool real_addresses = false;
};

struct ConnectionVerdict : Verdict {
  // Meaningful only when allowed.
  Treatment treatment = Treatment::kHttp;
  // Present exactly when allowed and opaque. With Treatment::kHttp nothing may be dialled until decide_http allows a
  // request.
  std::optional<ApprovedDestination> destination;
};

struct HttpVerdict : Verdict {
  // Present exactly when allowed.
  std::optional<ApprovedDestination> destination;
  // The deciding rule limits methods: a form body for which names_method_key() holds is to be refused with
  // kMethodOverride.
  bool limits_methods = false;
};

}  // namespace sallyport::policy
