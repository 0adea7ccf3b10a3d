// The DNS answers a task gets. Everything is answered here, from policy and pool: nothing a task asks goes anywhere.
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

#include "core/base/host_name.h"
#include "core/dns/query.h"
#include "core/dns/response.h"
#include "policies/engine/reason.h"
#include "resolver/answers/synthetic_pool.h"

namespace sallyport::resolver {

// What the policy says of a name: allowed if some rule could allow a connection to it.
struct NameDecision {
  policy::ReasonCode reason = policy::ReasonCode::kInternal;
  // One line for people, sent to the task as the extended error of a denial; empty: the reason's code and sentence.
  std::string text;

  bool allowed() const noexcept { return reason == policy::ReasonCode::kAllowed; }
};
using DecideName = std::function<NameDecision(const HostName&)>;

// What was asked and answered, for counters and the audit record.
struct AnswerRecord {
  enum class Verdict {
    kAnswered,     // addresses or a PTR
    kEmpty,        // NOERROR without records: the name is allowed, the type has nothing
    kNoSuchName,   // NXDOMAIN that no policy decided: special names, reverse names
    kDenied,       // by policy or floor
    kOverBudget,   // allowed, but the task's names are used up
    kUnsupported,  // REFUSED or NOTIMP: class, opcode or type that is not served
    kMalformed,    // FORMERR or dropped
  };
  Verdict verdict = Verdict::kMalformed;
  dns::Rcode rcode = dns::Rcode::kFormErr;
  dns::Type type{};                // of the question; 0 if there was none
  std::optional<dns::Name> asked;  // as on the wire: print by escaped() only
  std::optional<HostName> name;    // if it is a host name
  bool new_name = false;           // it was given its addresses by this question
  // kAllowed for kAnswered and kEmpty, kNameNotFound for kNoSuchName, kOverloaded for kOverBudget, the decision's for
  // kDenied.
  policy::ReasonCode reason = policy::ReasonCode::kMalformed;
};
std::string_view to_string(AnswerRecord::Verdict verdict) noexcept;

// Seconds that a client may keep an answer, positive or negative. Short, so that a changed policy shows.
inline constexpr std::uint32_t kAnswerTtl = 30;

struct Answered {
  std::size_t size = 0;  // bytes of `out` to send; 0: send nothing
  AnswerRecord record;
};

// Answers one message. `out` of dns::kResponseBuffer bytes is enough for either transport. `decide` is asked at most
// once, only for host names that are not special (see special_name).
Answered answer_message(std::span<const std::uint8_t> message, dns::Transport transport, const DecideName& decide,
                        SyntheticPool& pool, std::span<std::uint8_t> out);

// The same for a message already parsed.
Answered answer_query(const dns::Query& query, dns::Transport transport, const DecideName& decide, SyntheticPool& pool,
                      std::span<std::uint8_t> out);

}  // namespace sallyport::resolver
