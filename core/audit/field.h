// The fields an audit record can carry: one table of names, types and caps that writer and reader share.
//
// A field is text (hostile: whatever the sandbox sent, capped when the record is built, escaped when it is
// printed) or an unsigned number. Ids are part of the ring's format: append, never renumber.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sallyport::audit {

enum class FieldId : std::uint8_t {
  kVerdict = 1,     // allow | deny
  kReason,          // policy::ReasonCode as text
  kRule,            // id of the rule that decided
  kNearestRule,     // id of the rule that came closest, on denials
  kLayer,           // dns | connect | tls | http
  kNameAsked,       // the name as the client wrote it: authority, DNS question, Host
  kNameUsed,        // the canonical name that was decided on and resolved
  kDestination,     // the address the client connected to, where a connection was caught
  kPort,            //
  kAddressDialled,  // the checked address that was connected to
  kProtocol,        // http | tls | tcp | dns | udp
  kMethod,          //
  kPath,            // without query and fragment: RecordBuilder drops them
  kStatus,          // HTTP status sent to the client
  kBytesUp,         // payload bytes to the destination
  kBytesDown,       // payload bytes from the destination
  kDurationUs,      // microseconds, monotonic clock
  kDecisionId,      // what the client was told as the decision's id
  kConnectionId,    // ties the records of one client connection together
  kClientForm,      // explicit | caught
  kSni,             //
  kQueryType,       // DNS question type as text
  kResponseCode,    // DNS answer code as text
  kProbe,           // name of the self-test's probe
  kNonce,           // the probe's nonce
  kError,           // one line, what failed
  kLimit,           // which budget or limit ended it
  kCount,           // how many, in gap, coalesced and budget records
  kPolicy,          // name and version
  kPolicyHash,      //
  kOutcome,         // of a task
  kCredential,      // its name, never its value
};

enum class FieldType : std::uint8_t { kText, kNumber };

struct FieldSpec {
  FieldId id;
  std::string_view name;  // key in the log's JSON
  FieldType type;
  std::uint16_t cap;  // text: most bytes kept; more is cut and marked
};

inline constexpr std::array kFields = {
    FieldSpec{FieldId::kVerdict, "verdict", FieldType::kText, 16},
    FieldSpec{FieldId::kReason, "reason", FieldType::kText, 64},
    FieldSpec{FieldId::kRule, "rule", FieldType::kText, 128},
    FieldSpec{FieldId::kNearestRule, "nearest_rule", FieldType::kText, 128},
    FieldSpec{FieldId::kLayer, "layer", FieldType::kText, 16},
    FieldSpec{FieldId::kNameAsked, "name_asked", FieldType::kText, 253},
    FieldSpec{FieldId::kNameUsed, "name_used", FieldType::kText, 253},
    FieldSpec{FieldId::kDestination, "destination", FieldType::kText, 64},
    FieldSpec{FieldId::kPort, "port", FieldType::kNumber, 0},
    FieldSpec{FieldId::kAddressDialled, "address_dialled", FieldType::kText, 64},
    FieldSpec{FieldId::kProtocol, "protocol", FieldType::kText, 16},
    FieldSpec{FieldId::kMethod, "method", FieldType::kText, 32},
    FieldSpec{FieldId::kPath, "path", FieldType::kText, 1024},
    FieldSpec{FieldId::kStatus, "status", FieldType::kNumber, 0},
    FieldSpec{FieldId::kBytesUp, "bytes_up", FieldType::kNumber, 0},
    FieldSpec{FieldId::kBytesDown, "bytes_down", FieldType::kNumber, 0},
    FieldSpec{FieldId::kDurationUs, "duration_us", FieldType::kNumber, 0},
    FieldSpec{FieldId::kDecisionId, "decision_id", FieldType::kText, 64},
    FieldSpec{FieldId::kConnectionId, "connection_id", FieldType::kNumber, 0},
    FieldSpec{FieldId::kClientForm, "client_form", FieldType::kText, 16},
    FieldSpec{FieldId::kSni, "sni", FieldType::kText, 253},
    FieldSpec{FieldId::kQueryType, "query_type", FieldType::kText, 16},
    FieldSpec{FieldId::kResponseCode, "response_code", FieldType::kText, 16},
    FieldSpec{FieldId::kProbe, "probe", FieldType::kText, 32},
    FieldSpec{FieldId::kNonce, "nonce", FieldType::kText, 64},
    FieldSpec{FieldId::kError, "error", FieldType::kText, 256},
    FieldSpec{FieldId::kLimit, "limit", FieldType::kText, 64},
    FieldSpec{FieldId::kCount, "count", FieldType::kNumber, 0},
    FieldSpec{FieldId::kPolicy, "policy", FieldType::kText, 128},
    FieldSpec{FieldId::kPolicyHash, "policy_hash", FieldType::kText, 64},
    FieldSpec{FieldId::kOutcome, "outcome", FieldType::kText, 64},
    FieldSpec{FieldId::kCredential, "credential", FieldType::kText, 128},
};

inline constexpr std::size_t kFieldCount = kFields.size();

constexpr bool is_field(std::uint8_t id) noexcept { return id >= 1 && id <= kFieldCount; }
constexpr const FieldSpec& spec_of(FieldId id) noexcept { return kFields[static_cast<std::size_t>(id) - 1]; }

// A FieldId known at compile time to be text, or a number: the wrong one does not compile.
class TextField {
 public:
  consteval TextField(FieldId id) : id_(id) {
    if (spec_of(id).type != FieldType::kText) throw "this field is a number";
  }
  constexpr FieldId id() const noexcept { return id_; }

 private:
  FieldId id_;
};

class NumberField {
 public:
  consteval NumberField(FieldId id) : id_(id) {
    if (spec_of(id).type != FieldType::kNumber) throw "this field is text";
  }
  constexpr FieldId id() const noexcept { return id_; }

 private:
  FieldId id_;
};

namespace internal {
consteval bool table_is_ordered() {
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    if (static_cast<std::size_t>(kFields[i].id) != i + 1) return false;
  }
  return true;
}
static_assert(table_is_ordered(), "kFields[i] must describe FieldId i+1");
static_assert(kFieldCount <= 64, "a record marks its fields in 64 bits");
}  // namespace internal

}  // namespace sallyport::audit
