// ReasonCode: why something was decided, one enumeration for the whole of Sallyport.
//
// The text forms are stable: they stand in audit records, Proxy-Status fields, problem documents and DNS answers, and
// programs compare them. Codes are added, never renamed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sallyport::policy {

enum class ReasonCode : std::uint8_t {
  kAllowed,
  // The policy says no.
  kNoPolicy,           // there is no policy for this task: everything is denied
  kNoRule,             // no rule mentions the host
  kDeniedByRule,       // a deny rule matches
  kPortNotAllowed,     // a rule mentions the host, none this port
  kLiteralNotAllowed,  // an address was used instead of a name, and no rule mentions the address
  kMethodNotAllowed,   // a rule matches all but the method
  kPathNotAllowed,     // rules mention host and port, none this path
  kPathAmbiguous,      // servers disagree on what this path means (';', '%25XX'), and a rule looks at paths
  kQueryNotAllowed,    // a rule matches all but the query
  kContentTypeNotAllowed,  // a rule matches all but the type of the body
  kRecordTypeNotAllowed,   // the name may be used, but no rule grants this type of DNS record
  kNotWithinCeiling,       // the policy allows it, what the appliance sets above it does not
  kMethodOverride,     // a field or query key would have the server read another method
  kTunnelOnly,         // a readable request where only an opaque tunnel is allowed
  kUpgradeRefused,     // a switch of protocols that no rule mentions
  kDnsOverHttps,       // a DNS message inside a request: another resolver, which no rule mentions
  // What was sent does not agree with itself or with what was allowed.
  kMalformed,
  kNotHttp,
  kNotTls,
  kNoSni,
  kSniMismatch,
  kEchRefused,
  kHostMismatch,
  kClassificationTimeout,  // the client did not show in time what it speaks
  // The address is not one that may be dialled.
  kAddressRefused,
  kFloor,
  kSelfConnection,
  kUnassignedAddress,
  // A budget or limit is used up.
  kBudgetRequests,
  kBudgetConnections,
  kBudgetConcurrent,
  kBudgetUpload,
  kBudgetDownload,
  kBudgetDuration,
  kBudgetWall,
  kBudgetQueries,  // DNS questions
  kBudgetNames,    // distinct names that lookups or connections are for
  kIdle,
  // Allowed, but it did not work.
  kNameNotFound,
  kResolutionFailed,
  kUpstreamRefused,
  kUpstreamTimeout,
  kUpstreamClosed,
  kUpstreamMalformed,
  // Sallyport itself.
  kTaskEnded,
  kOverloaded,
  kAuditUnavailable,
  kInternal,
};
inline constexpr int kReasonCodes = static_cast<int>(ReasonCode::kInternal) + 1;

enum class Category : std::uint8_t { kAllowed, kPolicy, kProtocol, kAddress, kBudget, kUpstream, kPlatform };

// Stable, lower-case with '_': "no_rule". Never empty.
std::string_view to_string(ReasonCode code) noexcept;
// One sentence for the person or program that was refused, without a full stop and without a hint at a way around.
std::string_view describe(ReasonCode code) noexcept;
Category category(ReasonCode code) noexcept;
// "policy", "protocol", "address", "budget", "upstream", "platform", "allowed".
std::string_view to_string(Category category) noexcept;
// The inverse of to_string; nothing for any other text.
std::optional<ReasonCode> reason_of(std::string_view text) noexcept;
// For a code that crossed a process boundary as a number.
std::optional<ReasonCode> reason_of(std::uint32_t number) noexcept;

}  // namespace sallyport::policy
