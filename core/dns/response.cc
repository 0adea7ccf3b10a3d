#include "core/dns/response.h"

#include <algorithm>

#include "core/dns/wire.h"

namespace sallyport::dns {
namespace {

constexpr std::uint16_t kQuestionName = 0xc000 | kHeaderSize;  // a compression pointer to the question
constexpr std::uint16_t kExtendedErrorOption = 15;
// The SOA of negative answers: mname and rname say who answered; the numbers matter to nobody but the last, the TTL.
constexpr std::uint8_t kSoaNames[] = "\x09sallyport\x08internal\0\x06nobody\x07invalid";

enum class Detail { kAll, kNoText, kTruncated };

std::uint16_t flags_of(const Query& query, const Response& response, Detail detail) noexcept {
  unsigned flags = header::kResponse | header::kRecursionAvailable;
  if (query.recursion_desired) flags |= header::kRecursionDesired;
  if (query.checking_disabled) flags |= header::kCheckingDisabled;
  if (detail == Detail::kTruncated) flags |= header::kTruncated;
  return static_cast<std::uint16_t>(flags | (static_cast<unsigned>(response.rcode) & header::kRcode));
}

void write_record_head(WireWriter& out, Type type, std::uint32_t ttl, std::size_t rdata) noexcept {
  out.u16(kQuestionName);
  out.u16(static_cast<std::uint16_t>(type));
  out.u16(static_cast<std::uint16_t>(Class::kIn));
  out.u32(ttl);
  out.u16(static_cast<std::uint16_t>(rdata));
}

void write_answers(WireWriter& out, Type asked, const Response& response) noexcept {
  for (const IpAddress& address : response.addresses) {
    write_record_head(out, address.is_v4() ? Type::kA : Type::kAaaa, response.ttl, address.bytes().size());
    out.raw(address.bytes());
  }
  for (const auto& data : response.records) {
    write_record_head(out, asked, response.ttl, data.size());
    out.raw(data);
  }
  if (response.pointer != nullptr) {
    write_record_head(out, Type::kPtr, response.ttl, response.pointer->wire().size());
    out.raw(response.pointer->wire());
  }
}

void write_soa(WireWriter& out, std::uint32_t ttl) noexcept {
  const std::uint8_t root = 0;
  out.raw({&root, 1});
  out.u16(static_cast<std::uint16_t>(Type::kSoa));
  out.u16(static_cast<std::uint16_t>(Class::kIn));
  out.u32(ttl);
  out.u16(sizeof kSoaNames + 20);
  out.raw(kSoaNames);
  for (std::uint32_t number : {1u, 3600u, 600u, 86400u, ttl}) out.u32(number);
}

// A prefix of `text` that ends between two UTF-8 characters.
std::string_view cut_text(std::string_view text) noexcept {
  if (text.size() <= ExtendedError::kMaxText) return text;
  std::size_t end = ExtendedError::kMaxText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

void write_opt(WireWriter& out, const Query& query, Rcode rcode, const std::optional<ExtendedError>& error,
               Detail detail) noexcept {
  const std::uint8_t root = 0;
  out.raw({&root, 1});
  out.u16(static_cast<std::uint16_t>(Type::kOpt));
  out.u16(kUdpPayload);
  out.u32(static_cast<std::uint32_t>(rcode) >> 4 << 24 | (query.dnssec_ok ? kDnssecOk : 0));
  if (!error) {
    out.u16(0);
    return;
  }
  auto text = detail == Detail::kAll ? cut_text(error->text) : std::string_view{};
  auto length = static_cast<std::uint16_t>(2 + text.size());
  out.u16(static_cast<std::uint16_t>(length + 4));
  out.u16(kExtendedErrorOption);
  out.u16(length);
  out.u16(static_cast<std::uint16_t>(error->code));
  out.raw({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

// 0 if it does not fit.
std::size_t write_with(const Query& query, const Response& response, Detail detail,
                       std::span<std::uint8_t> space) noexcept {
  bool records = detail != Detail::kTruncated;
  std::size_t answers = response.addresses.size() + response.records.size() + (response.pointer != nullptr ? 1 : 0);
  if (answers > 0xffff) return 0;
  WireWriter out(space);
  out.u16(query.id);
  out.u16(flags_of(query, response, detail));
  out.u16(1);
  out.u16(static_cast<std::uint16_t>(records ? answers : 0));
  out.u16(records && response.negative_soa ? 1 : 0);
  out.u16(query.has_edns ? 1 : 0);
  out.raw(query.question.name.wire());
  out.u16(static_cast<std::uint16_t>(query.question.type));
  out.u16(static_cast<std::uint16_t>(query.question.klass));
  if (records) write_answers(out, query.question.type, response);
  if (records && response.negative_soa) write_soa(out, response.ttl);
  if (query.has_edns) write_opt(out, query, response.rcode, response.extended_error, detail);
  return out.ok() ? out.size() : 0;
}

}  // namespace

std::size_t write_response(const Query& query, const Response& response, Transport transport,
                           std::span<std::uint8_t> out) noexcept {
  if (out.size() < kPlainUdpPayload) return 0;
  std::size_t limit = transport == Transport::kTcp ? std::size_t{0xffff} : std::min(query.udp_size, kUdpPayload);
  auto space = out.first(std::min(limit, out.size()));
  for (Detail detail : {Detail::kAll, Detail::kNoText, Detail::kTruncated})
    if (std::size_t size = write_with(query, response, detail, space)) return size;
  return 0;
}

std::size_t write_malformed(const MalformedQuery& query, std::span<std::uint8_t> space) noexcept {
  if (query.reply == MalformedQuery::Reply::kDrop || space.size() < kPlainUdpPayload) return 0;
  bool bad_version = query.reply == MalformedQuery::Reply::kBadVers;
  Rcode rcode = bad_version                                     ? Rcode::kBadVers
                : query.reply == MalformedQuery::Reply::kNotImp ? Rcode::kNotImp
                                                                : Rcode::kFormErr;
  WireWriter out(space);
  out.u16(query.id);
  unsigned flags = header::kResponse | header::kRecursionAvailable | static_cast<unsigned>(query.opcode & 0xf) << 11 |
                   (static_cast<unsigned>(rcode) & header::kRcode);
  if (query.recursion_desired) flags |= header::kRecursionDesired;
  out.u16(static_cast<std::uint16_t>(flags));
  for (int section = 0; section < 3; ++section) out.u16(0);
  out.u16(bad_version ? 1 : 0);
  if (bad_version) write_opt(out, Query{}, rcode, std::nullopt, Detail::kAll);
  return out.size();
}

}  // namespace sallyport::dns
