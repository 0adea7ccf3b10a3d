#include "policies/engine/reason.h"

#include <array>

namespace sallyport::policy {
namespace {

struct Entry {
  ReasonCode code;
  Category category;
  std::string_view text;
  std::string_view sentence;
};

using enum ReasonCode;
using C = Category;
constexpr std::array<Entry, kReasonCodes> kTable{{
    {kAllowed, C::kAllowed, "allowed", "The policy allows this"},
    {kNoPolicy, C::kPolicy, "no_policy", "This task has no policy, so everything is denied"},
    {kNoRule, C::kPolicy, "no_rule", "No rule of the policy mentions this host"},
    {kDeniedByRule, C::kPolicy, "denied_by_rule", "A rule of the policy denies this"},
    {kPortNotAllowed, C::kPolicy, "port_not_allowed", "The policy mentions this host, but not this port"},
    {kLiteralNotAllowed, C::kPolicy, "literal_not_allowed",
     "Addresses need a rule of their own, and there is none for this one"},
    {kMethodNotAllowed, C::kPolicy, "method_not_allowed", "The policy does not allow this method here"},
    {kPathNotAllowed, C::kPolicy, "path_not_allowed", "The policy mentions this host and port, but not this path"},
    {kPathAmbiguous, C::kPolicy, "path_ambiguous",
     "Servers read this path in different ways, and the policy decides by path here"},
    {kQueryNotAllowed, C::kPolicy, "query_not_allowed", "The policy does not allow this query here"},
    {kContentTypeNotAllowed, C::kPolicy, "content_type_not_allowed", "The policy does not allow a body of this type here"},
    {kRecordTypeNotAllowed, C::kPolicy, "record_type_not_allowed", "No rule grants this type of DNS record for this name"},
    {kNotWithinCeiling, C::kPolicy, "not_within_ceiling",
     "The task's policy allows this, the policy above it does not"},
    {kMethodOverride, C::kPolicy, "method_override",
     "The request asks the server to read another method than the policy was shown"},
    {kTunnelOnly, C::kPolicy, "tunnel_only", "The policy allows only an opaque tunnel here, not a readable request"},
    {kUpgradeRefused, C::kPolicy, "upgrade_refused", "No rule allows to switch to another protocol here"},
    {kDnsOverHttps, C::kPolicy, "dns_over_https", "DNS over HTTP is a resolver of its own, and no rule allows one"},
    {kMalformed, C::kProtocol, "malformed", "The message does not have the form that its protocol requires"},
    {kNotHttp, C::kProtocol, "not_http", "The policy allows HTTP here, and this is something else"},
    {kNotTls, C::kProtocol, "not_tls", "The policy allows TLS here, and this is something else"},
    {kNoSni, C::kProtocol, "no_sni", "The TLS greeting names no server"},
    {kSniMismatch, C::kProtocol, "sni_mismatch", "The TLS greeting names another server than the connection was for"},
    {kEchRefused, C::kProtocol, "ech_refused",
     "The TLS greeting may hide the server's name; only a rule with ech: allow lets it pass, and then the name inside is not seen"},
    {kHostMismatch, C::kProtocol, "host_mismatch", "The request names another host than the connection was for"},
    {kClassificationTimeout, C::kProtocol, "classification_timeout", "The client took too long to show what it wants"},
    {kAddressRefused, C::kAddress, "address_refused", "The name leads to an address of a kind that is not dialled"},
    {kFloor, C::kAddress, "floor", "Cloud metadata and Sallyport's own sockets are never reachable"},
    {kSelfConnection, C::kAddress, "self_connection", "The connection leads back to Sallyport or to the task itself"},
    {kUnassignedAddress, C::kAddress, "unassigned_address", "No name of this task has this address"},
    {kBudgetRequests, C::kBudget, "budget_requests", "The allowed number of requests is used up"},
    {kBudgetConnections, C::kBudget, "budget_connections", "The allowed number of connections is used up"},
    {kBudgetConcurrent, C::kBudget, "budget_concurrent", "Too many connections are open at once"},
    {kBudgetUpload, C::kBudget, "budget_upload", "The allowed number of bytes sent is used up"},
    {kBudgetDownload, C::kBudget, "budget_download", "The allowed number of bytes received is used up"},
    {kBudgetDuration, C::kBudget, "budget_duration", "The connection has lasted as long as it may"},
    {kBudgetWall, C::kBudget, "budget_wall", "The task has lasted as long as it may"},
    {kBudgetQueries, C::kBudget, "budget_queries", "The allowed number of DNS questions is used up"},
    {kBudgetNames, C::kBudget, "budget_names", "The allowed number of distinct names is used up"},
    {kIdle, C::kBudget, "idle", "The connection carried nothing for as long as it may"},
    {kNameNotFound, C::kUpstream, "name_not_found", "The name does not exist"},
    {kResolutionFailed, C::kUpstream, "resolution_failed", "The name could not be resolved"},
    {kUpstreamRefused, C::kUpstream, "upstream_refused", "The server could not be reached"},
    {kUpstreamTimeout, C::kUpstream, "upstream_timeout", "The server did not answer in time"},
    {kUpstreamClosed, C::kUpstream, "upstream_closed", "The server closed the connection too early"},
    {kUpstreamMalformed, C::kUpstream, "upstream_malformed",
     "The server's answer does not have the form that its protocol requires"},
    {kTaskEnded, C::kPlatform, "task_ended", "The task has ended"},
    {kOverloaded, C::kPlatform, "overloaded", "A maximum of Sallyport is reached"},
    {kAuditUnavailable, C::kPlatform, "audit_unavailable", "What cannot be recorded is not done"},
    {kInternal, C::kPlatform, "internal", "Sallyport failed, and what fails is denied"},
}};

constexpr bool in_order() {
  for (int i = 0; i < kReasonCodes; ++i)
    if (static_cast<int>(kTable[static_cast<std::size_t>(i)].code) != i) return false;
  return true;
}
static_assert(in_order(), "the table follows the enumeration");

const Entry& entry(ReasonCode code) noexcept {
  auto at = static_cast<std::size_t>(code);
  return kTable[at < kTable.size() ? at : kTable.size() - 1];
}

}  // namespace

std::string_view to_string(ReasonCode code) noexcept { return entry(code).text; }
std::string_view describe(ReasonCode code) noexcept { return entry(code).sentence; }
Category category(ReasonCode code) noexcept { return entry(code).category; }

std::string_view to_string(Category category) noexcept {
  switch (category) {
    case Category::kAllowed:
      return "allowed";
    case Category::kPolicy:
      return "policy";
    case Category::kProtocol:
      return "protocol";
    case Category::kAddress:
      return "address";
    case Category::kBudget:
      return "budget";
    case Category::kUpstream:
      return "upstream";
    case Category::kPlatform:
      return "platform";
  }
  return "platform";
}

std::optional<ReasonCode> reason_of(std::string_view text) noexcept {
  for (const Entry& e : kTable)
    if (e.text == text) return e.code;
  return std::nullopt;
}

std::optional<ReasonCode> reason_of(std::uint32_t number) noexcept {
  if (number >= kTable.size()) return std::nullopt;
  return static_cast<ReasonCode>(number);
}

}  // namespace sallyport::policy
