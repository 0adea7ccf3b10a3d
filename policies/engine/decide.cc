#include "policies/engine/decide.h"

#include "policies/engine/decide_own.h"
#include "policies/engine/decide_parts.h"

namespace sallyport::policy {
namespace {

// Turns what the policy allowed into the ceiling's refusal.
void deny_within(Verdict& verdict, const Verdict& ceiling) {
  verdict.reason = ReasonCode::kNotWithinCeiling;
  verdict.nearest = verdict.rule;
  verdict.rule.reset();
  verdict.ceiling_reason = ceiling.reason;
  verdict.ceiling_rule = ceiling.rule ? ceiling.rule : ceiling.nearest;
}

// A tunnel of any kind carries what a narrower rule allows; nothing else agrees but the same.
bool agrees(Treatment wanted, Treatment ceiling) { return ceiling == wanted || ceiling == Treatment::kTcpTunnel; }

}  // namespace

NameVerdict decide_name(const CompiledPolicy& policy, const HostName& name) {
  NameVerdict verdict = own::name(policy, name);
  if (!verdict.allowed() || policy.ceiling() == nullptr) return verdict;
  NameVerdict above = own::name(*policy.ceiling(), name);
  if (!above.allowed()) deny_within(verdict, above);
  verdict.real_addresses = verdict.real_addresses && above.real_addresses;
  return verdict;
}

NameVerdict decide_record(const CompiledPolicy& policy, const HostName& name, RecordType type) {
  NameVerdict verdict = own::record(policy, name, type);
  if (!verdict.allowed() || policy.ceiling() == nullptr) return verdict;
  NameVerdict above = own::record(*policy.ceiling(), name, type);
  if (!above.allowed()) deny_within(verdict, above);
  verdict.real_addresses = verdict.real_addresses && above.real_addresses;
  return verdict;
}

ConnectionVerdict decide_connection(const CompiledPolicy& policy, const ConnectionRequest& request) {
  ConnectionVerdict verdict = own::connection(policy, request);
  if (!verdict.allowed()) return verdict;
  if (policy.ceiling() != nullptr) {
    ConnectionVerdict above = own::connection(*policy.ceiling(), request);
    if (!above.allowed() || !agrees(verdict.treatment, above.treatment)) {
      if (above.allowed())
        above.reason = above.treatment == Treatment::kHttp ? ReasonCode::kNotHttp : ReasonCode::kNotTls;
      deny_within(verdict, above);
      return verdict;
    }
    if (above.treatment == Treatment::kTlsTunnel && above.rule->ech == Ech::kRefuse) verdict.rule->ech = Ech::kRefuse;
  }
  if (verdict.treatment != Treatment::kHttp)
    verdict.destination = ApprovedDestination(request.target, request.port, verdict.treatment, *verdict.rule);
  return verdict;
}

HttpVerdict decide_http(const CompiledPolicy& policy, const HttpRequest& request) {
  HttpVerdict verdict = own::http(policy, request);
  if (!verdict.allowed()) return verdict;
  if (policy.ceiling() != nullptr) {
    HttpVerdict above = own::http(*policy.ceiling(), request);
    bool carried = above.reason == ReasonCode::kTunnelOnly &&
                   own::connection(*policy.ceiling(), {request.target, request.port}).treatment == Treatment::kTcpTunnel;
    if (!above.allowed() && !carried) {
      deny_within(verdict, above);
      return verdict;
    }
    verdict.limits_methods = verdict.limits_methods || above.limits_methods;
  }
  verdict.destination = ApprovedDestination(request.target, request.port, Treatment::kHttp, *verdict.rule);
  return verdict;
}

}  // namespace sallyport::policy
