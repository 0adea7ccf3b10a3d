#include "core/dns/query.h"

#include <algorithm>

#include "core/dns/wire.h"

namespace sallyport::dns {
namespace {

using Reply = MalformedQuery::Reply;

struct Fault {
  Reply reply;
  std::string_view why;
};

// RFC 6891 section 6.1.2: (code, length, data) until RDATA ends. The contents mean nothing to us.
bool options_are_well_formed(std::span<const std::uint8_t> rdata) noexcept {
  WireReader options(rdata);
  while (options.left() != 0) {
    if (!options.u16()) return false;
    auto length = options.u16();
    if (!length || !options.take(*length)) return false;
  }
  return true;
}

// The one additional record, which must be OPT.
std::optional<Fault> read_opt(WireReader& reader, Query& query) noexcept {
  auto name = Name::read_plain(reader.message(), reader.position());
  auto type = reader.u16(), size = reader.u16();
  auto ttl = reader.u32();
  auto length = reader.u16();
  if (!name || !type || !size || !ttl || !length) return Fault{Reply::kFormErr, "additional record is cut off"};
  if (static_cast<Type>(*type) != Type::kOpt) return Fault{Reply::kFormErr, "additional record is not OPT"};
  if (!name->is_root()) return Fault{Reply::kFormErr, "OPT record has a name"};
  auto rdata = reader.take(*length);
  if (!rdata) return Fault{Reply::kFormErr, "OPT record is cut off"};
  if ((*ttl >> 16 & 0xff) != 0) return Fault{Reply::kBadVers, "EDNS version above 0"};
  if (!options_are_well_formed(*rdata)) return Fault{Reply::kFormErr, "EDNS options are malformed"};
  query.has_edns = true;
  query.udp_size = std::max(*size, kPlainUdpPayload);
  query.dnssec_ok = (*ttl & kDnssecOk) != 0;
  return std::nullopt;
}

// Everything after the id and flags. `name` is set once it could be read.
std::optional<Fault> read_sections(WireReader& reader, Query& query, std::optional<Name>& name) noexcept {
  auto questions = reader.u16(), answers = reader.u16(), authorities = reader.u16(), additionals = reader.u16();
  if (*questions != 1) return Fault{Reply::kFormErr, "not exactly one question"};
  name = Name::read_plain(reader.message(), reader.position());
  if (!name) return Fault{Reply::kFormErr, "name of the question is malformed or compressed"};
  if (*answers != 0 || *authorities != 0)
    return Fault{Reply::kFormErr, "records in a question's answer or authority section"};
  if (*additionals > 1) return Fault{Reply::kFormErr, "more than one additional record"};
  if (name->has_ambiguous_byte()) return Fault{Reply::kFormErr, "dot or NUL byte inside a label"};
  auto type = reader.u16(), klass = reader.u16();
  if (!type || !klass) return Fault{Reply::kFormErr, "question is cut off"};
  query.question = {*name, static_cast<Type>(*type), static_cast<Class>(*klass)};
  if (*additionals == 1)
    if (auto fault = read_opt(reader, query)) return fault;
  if (reader.left() != 0) return Fault{Reply::kFormErr, "bytes after the end of the message"};
  return std::nullopt;
}

}  // namespace

std::variant<Query, MalformedQuery> parse_query(std::span<const std::uint8_t> message) noexcept {
  MalformedQuery malformed;
  if (message.size() < kHeaderSize) {
    malformed.why = "shorter than a header";
    return malformed;
  }
  WireReader reader(message);
  Query query;
  query.id = malformed.id = *reader.u16();
  std::uint16_t flags = *reader.u16();
  query.recursion_desired = malformed.recursion_desired = (flags & header::kRecursionDesired) != 0;
  query.checking_disabled = (flags & header::kCheckingDisabled) != 0;
  malformed.opcode = header::opcode(flags);

  std::optional<Fault> fault;
  if ((flags & header::kResponse) != 0)
    fault = Fault{Reply::kDrop, "a response, not a question"};
  else if (malformed.opcode != 0)
    fault = Fault{Reply::kNotImp, "opcode is not QUERY"};
  else if ((flags & (header::kTruncated | header::kZero | header::kRcode)) != 0)
    fault = Fault{Reply::kFormErr, "TC, Z or RCODE set in a question"};
  else if (message.size() > kMaxQuery)
    fault = Fault{Reply::kFormErr, "message is too long"};
  else
    fault = read_sections(reader, query, malformed.name);

  if (!fault) return query;
  malformed.reply = fault->reply;
  malformed.why = fault->why;
  return malformed;
}

}  // namespace sallyport::dns
