// The DNS answers a task gets. From policy and pool, so that nothing a task asks goes anywhere, except where a rule grants
// it: true addresses (`dns: real`) and records of other types (`dns: [TXT, …]`) are looked up by the caller, who then asks
// for the answer.
//
// Input is hostile bytes from the sandbox, over UDP or TCP (without the length prefix). Pure but for the pool and the
// callback; no I/O, no clock. Used on the task's home thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/host_name.h"
#include "core/dns/query.h"
#include "core/dns/response.h"
#include "policies/engine/reason.h"
#include "resolver/answers/synthetic_pool.h"

namespace sallyport::resolver {

// What the policy says of a question for a name: allowed if some rule could allow a connection to it and, for other types
// than addresses, some rule grants the type.
struct NameDecision {
  policy::ReasonCode reason = policy::ReasonCode::kInternal;
  // One line for people, sent to the task as the extended error of a denial; empty: the reason's code and sentence.
  std::string text = {};
  bool look_up = false;  // allowed: true addresses, or records, are to be looked up
  bool explain = false;  // denied: give the name an address all the same, where connections are refused readably

  bool allowed() const noexcept { return reason == policy::ReasonCode::kAllowed; }
};
using DecideName = std::function<NameDecision(const HostName&, dns::Type)>;

// What was asked and answered, for counters and the audit record.
struct AnswerRecord {
  enum class Verdict {
    kAnswered,     // addresses, records or a PTR
    kEmpty,        // NOERROR without records: the name is allowed, the type has nothing
    kNoSuchName,   // NXDOMAIN that no policy decided: special names, reverse names, what upstream does not know
    kDenied,       // by policy, floor or the class of an address
    kOverBudget,   // allowed, but the task's names or questions are used up
    kFailed,       // SERVFAIL: looked up in vain
    kUnsupported,  // REFUSED or NOTIMP: class, opcode or type that is not served
    kMalformed,    // FORMERR or dropped
  };
  Verdict verdict = Verdict::kMalformed;
  dns::Rcode rcode = dns::Rcode::kFormErr;
  dns::Type type{};                // of the question; 0 if there was none
  std::optional<dns::Name> asked;  // as on the wire: print by escaped() only
  std::optional<HostName> name;    // if it is a host name
  bool new_name = false;           // it was given its addresses by this question
  // kAllowed for kAnswered and kEmpty, kNameNotFound for kNoSuchName, the budget's or kOverloaded for kOverBudget, the
  // decision's for kDenied, the lookup's for kFailed.
  policy::ReasonCode reason = policy::ReasonCode::kMalformed;
};
std::string_view to_string(AnswerRecord::Verdict verdict) noexcept;

// Seconds that a client may keep an answer, positive or negative. Short, so that a changed policy shows.
inline constexpr std::uint32_t kAnswerTtl = 30;

// A question that needs a lookup: of the true addresses of `name`, or of its records of the question's type.
struct PendingLookup {
  dns::Query query;
  HostName name;

  bool wants_addresses() const noexcept {
    return query.question.type == dns::Type::kA || query.question.type == dns::Type::kAaaa;
  }
};

struct Answered {
  std::size_t size = 0;  // bytes of `out` to send; 0: send nothing
  AnswerRecord record;
  // Nothing is to be sent or recorded yet: look up, then call answer_looked_up.
  std::optional<PendingLookup> pending = std::nullopt;
};

// Answers one message. `out` of dns::kResponseBuffer bytes is enough for either transport. `decide` is asked at most
// once, only for host names that are not special (see special_name).
Answered answer_message(std::span<const std::uint8_t> message, dns::Transport transport, const DecideName& decide,
                        SyntheticPool& pool, std::span<std::uint8_t> out);

// The same for a message already parsed.
Answered answer_query(const dns::Query& query, dns::Transport transport, const DecideName& decide, SyntheticPool& pool,
                      std::span<std::uint8_t> out);

// A question that is not answered because of what the task has used up or of our own bounds: REFUSED.
Answered refuse_query(const dns::Query& query, policy::ReasonCode reason, dns::Transport transport,
                      std::span<std::uint8_t> out);

// What came of a lookup. Addresses have been checked; those of the other family are left out of the answer.
struct LookedUp {
  policy::ReasonCode reason = policy::ReasonCode::kResolutionFailed;  // kAllowed: the name exists
  std::string text = {};                                              // of a failure, for people; escaped
  std::vector<IpAddress> addresses = {};
  std::vector<std::vector<std::uint8_t>> records = {};  // canonical RDATA
  std::uint32_t ttl = 0;
};

// `out` of dns::kTcpResponseBuffer bytes takes every answer.
Answered answer_looked_up(const PendingLookup& pending, const LookedUp& found, dns::Transport transport,
                          std::span<std::uint8_t> out);

}  // namespace sallyport::resolver
