// Query: a DNS question from the sandbox, parsed strictly (RFC 1035 section 4.1, RFC 6891, RFC 9619).
//
// The input is hostile. What is not exactly one well-formed question in a message without anything after it is not
// a Query. Nothing of the message but id, flags and question survives parsing: EDNS options are checked for form and
// dropped (dns-005), so no later step could pass them on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "core/dns/name.h"
#include "core/dns/protocol.h"

namespace sallyport::dns {

struct Question {
  Name name;  // no label holds a dot or NUL byte (dns-016, dns-017); otherwise any bytes
  Type type = Type::kA;
  Class klass = Class::kIn;
};

struct Query {
  std::uint16_t id = 0;
  bool recursion_desired = false;
  bool checking_disabled = false;
  Question question;
  bool has_edns = false;
  std::uint16_t udp_size = kPlainUdpPayload;  // what the client says it takes; 512 without EDNS, never less
  bool dnssec_ok = false;
};

// A message that is no Query, and what it is answered with.
struct MalformedQuery {
  enum class Reply { kDrop, kFormErr, kNotImp, kBadVers };
  Reply reply = Reply::kDrop;
  std::uint16_t id = 0;
  std::uint8_t opcode = 0;
  bool recursion_desired = false;
  std::string_view why;  // static text for the record
  // The question's name where one could be read, for the record; print it by Name::escaped() only.
  std::optional<Name> name;
};

// Messages longer than this are malformed. A question with its name, type and padding options needs far less.
inline constexpr std::size_t kMaxQuery = 4096;

// Dropped: less than a header, and responses (QR set: answering those makes loops). kNotImp: an opcode other
// than QUERY (dns-020). kBadVers: EDNS version above 0. kFormErr: QDCOUNT not 1 (dns-019), any answer or authority
// record, more than one additional record or one that is no OPT, TC, Z or an RCODE set, a compression pointer in the
// name (dns-018), a name with a dot or NUL inside a label, malformed options, trailing bytes (dns-021), more than
// kMaxQuery bytes. Constant stack, no allocation, one pass.
std::variant<Query, MalformedQuery> parse_query(std::span<const std::uint8_t> message) noexcept;

}  // namespace sallyport::dns
