#include "core/dns/upstream_message.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "core/base/random.h"
#include "core/dns/record_data.h"
#include "core/dns/wire.h"

namespace sallyport::dns {
namespace {

struct Alias {
  Name owner, target;
  std::uint32_t ttl;
};
// An address, or RDATA of another type.
struct Found {
  Name owner;
  std::optional<IpAddress> address;
  std::vector<std::uint8_t> data;
  std::uint32_t ttl;
};

// What of a message can matter to a lookup.
struct Records {
  std::vector<Alias> aliases;
  std::vector<Found> found;
  std::optional<std::uint32_t> negative_ttl;
  std::optional<std::uint16_t> extended_rcode;
};

struct Record {
  Name owner;
  Type type{};
  std::uint16_t klass = 0;
  std::uint32_t ttl = 0;
  std::size_t rdata_at = 0;
  std::span<const std::uint8_t> rdata;
};

struct BytesLess {
  bool operator()(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) const noexcept {
    return std::ranges::lexicographical_compare(a, b);
  }
};

auto malformed(const char* what) {
  return fail(ErrorKind::kInvalid, std::string("answer of an upstream server: ") + what);
}

// RFC 2181 section 8: a TTL with the highest bit set means zero.
std::uint32_t sane_ttl(std::uint32_t ttl) noexcept { return (ttl & 0x80000000u) != 0 ? 0 : ttl; }

std::optional<Record> read_record(WireReader& reader) noexcept {
  Record record;
  auto owner = Name::read(reader.message(), reader.position());
  auto type = reader.u16(), klass = reader.u16();
  auto ttl = reader.u32();
  auto length = reader.u16();
  if (!owner || !type || !klass || !ttl || !length) return std::nullopt;
  record.rdata_at = reader.position();
  auto rdata = reader.take(*length);
  if (!rdata) return std::nullopt;
  record.owner = *owner;
  record.type = static_cast<Type>(*type);
  record.klass = *klass;
  record.ttl = *ttl;
  record.rdata = *rdata;
  return record;
}

bool is_in(const Record& record) noexcept { return record.klass == static_cast<std::uint16_t>(Class::kIn); }

std::optional<IpAddress> address_in(const Record& record) noexcept {
  std::size_t size = record.type == Type::kA ? 4 : 16;
  if (record.rdata.size() != size) return std::nullopt;
  if (record.type == Type::kA) return IpAddress::v4({record.rdata[0], record.rdata[1], record.rdata[2], record.rdata[3]});
  std::array<std::uint8_t, 16> octets{};
  std::copy_n(record.rdata.begin(), octets.size(), octets.begin());
  return IpAddress::v6(octets);
}

Result<void> keep_alias(const Record& record, std::span<const std::uint8_t> message, Records& out) {
  // The name may point back into the message, but must itself end where the record does.
  std::size_t at = record.rdata_at;
  auto target = Name::read(message, at);
  if (!target || at != record.rdata_at + record.rdata.size()) return malformed("a CNAME record is malformed");
  out.aliases.push_back({record.owner, *target, sane_ttl(record.ttl)});
  return success();
}

Result<void> keep_answer(const Record& record, Type wanted, std::span<const std::uint8_t> message, Records& out) {
  if (!is_in(record)) return success();
  // Asked for, an alias is what was found, not a way on.
  if (record.type == Type::kCname && wanted != Type::kCname) return keep_alias(record, message, out);
  if (record.type != wanted) return success();
  Found found{record.owner, std::nullopt, {}, sane_ttl(record.ttl)};
  if (wanted == Type::kA || wanted == Type::kAaaa) {
    found.address = address_in(record);
    if (!found.address) return malformed("an address record has the wrong length");
  } else {
    auto data = canonical_record_data(wanted, message, record.rdata_at, record.rdata.size());
    if (!data) return malformed("a record of the asked type is malformed");
    found.data = std::move(*data);
  }
  out.found.push_back(std::move(found));
  return success();
}

// RFC 2308 section 5: the lesser of the SOA record's TTL and its last field.
Result<void> keep_authority(const Record& record, std::span<const std::uint8_t> message, Records& out) {
  if (!is_in(record) || record.type != Type::kSoa) return success();
  std::size_t at = record.rdata_at, end = at + record.rdata.size();
  for (int name = 0; name < 2; ++name)
    if (!Name::read(message, at) || at > end) return malformed("an SOA record is malformed");
  if (end - at != 20) return malformed("an SOA record is malformed");
  WireReader tail(record.rdata, record.rdata.size() - 4);
  out.negative_ttl = std::min(sane_ttl(record.ttl), sane_ttl(*tail.u32()));
  return success();
}

Result<void> keep_additional(const Record& record, Records& out) {
  if (record.type != Type::kOpt) return success();
  if (!record.owner.is_root() || out.extended_rcode) return malformed("OPT record is malformed or doubled");
  out.extended_rcode = static_cast<std::uint16_t>(record.ttl >> 24 << 4);
  return success();
}

Result<Records> read_records(WireReader& reader, const std::uint16_t (&counts)[3], Type wanted) {
  Records out;
  if (std::size_t{counts[0]} + counts[1] + counts[2] > kMaxRecords) return malformed("too many records");
  for (int section = 0; section < 3; ++section) {
    for (unsigned i = 0; i < counts[section]; ++i) {
      auto record = read_record(reader);
      if (!record) return malformed("a record is malformed or cut off");
      auto kept = section == 0   ? keep_answer(*record, wanted, reader.message(), out)
                  : section == 1 ? keep_authority(*record, reader.message(), out)
                                 : keep_additional(*record, out);
      if (!kept) return fail(std::move(kept).error());
    }
  }
  if (reader.left() != 0) return malformed("bytes after the end of the message");
  return out;
}

// The name at the end of the chain that begins at `asked`; `ttl` becomes the least of the chain.
Result<Name> end_of_chain(const Records& records, const Name& asked, std::uint32_t& ttl) {
  Name current = asked;
  for (std::size_t step = 0;; ++step) {
    const Alias* next = nullptr;
    for (const Alias& alias : records.aliases) {
      if (!alias.owner.equals_ignoring_case(current)) continue;
      if (next != nullptr && !next->target.equals_ignoring_case(alias.target))
        return malformed("two CNAME records for one name");
      next = &alias;
      ttl = std::min(ttl, alias.ttl);
    }
    if (next == nullptr) return current;
    if (step == kMaxChain) return malformed("chain of CNAME records loops or is too long");
    current = next->target;
  }
}

// Follows the chain from `asked` and keeps only what stands at its end.
Result<UpstreamAnswer> follow(const Records& records, const Name& asked) {
  UpstreamAnswer answer;
  std::uint32_t ttl = 0x7fffffff;
  BOOST_OUTCOME_TRY(auto last, end_of_chain(records, asked, ttl));
  std::unordered_set<IpAddress> seen;
  std::set<std::span<const std::uint8_t>, BytesLess> seen_data;
  std::size_t bytes = 0;
  for (const Found& found : records.found) {
    if (!found.owner.equals_ignoring_case(last)) continue;
    ttl = std::min(ttl, found.ttl);
    if (found.address) {
      if (seen.insert(*found.address).second) answer.addresses.push_back(*found.address);
    } else if (seen_data.insert(found.data).second) {
      bytes += found.data.size() + 2;
      if (bytes > kMaxRecordData) return malformed("more data than is passed on");
      answer.records.push_back(found.data);
    }
  }
  bool found = !answer.addresses.empty() || !answer.records.empty();
  answer.kind = found ? UpstreamAnswer::Kind::kFound : UpstreamAnswer::Kind::kNoData;
  answer.ttl = found ? ttl : std::min(ttl, records.negative_ttl.value_or(0));
  return answer;
}

}  // namespace

UpstreamQuestion make_question(const HostName& name, Type type) {
  UpstreamQuestion question;
  question.type = type;

  std::string mixed(name.text());
  std::array<std::uint8_t, 2 + HostName::kMaxLength> random{};
  random_bytes({random.data(), 2 + mixed.size()});
  question.id = static_cast<std::uint16_t>(random[0] << 8 | random[1]);

  const Name canonical = Name::of(name);
  std::vector<std::uint8_t> cased(canonical.wire().begin(), canonical.wire().end());
  // Length bytes stand where the text has dots (shifted by one) and are below 64, so only letters change.
  for (std::size_t i = 0; i < mixed.size(); ++i)
    if (mixed[i] >= 'a' && mixed[i] <= 'z' && (random[2 + i] & 1) != 0)
      cased[i + 1] = static_cast<std::uint8_t>(mixed[i] - 'a' + 'A');
  std::size_t at = 0;
  question.name = *Name::read_plain(cased, at);

  question.wire.resize(kHeaderSize + cased.size() + 4 + 11);
  WireWriter out(question.wire);
  out.u16(question.id);
  out.u16(header::kRecursionDesired);
  for (bool one : {true, false, false, true}) out.u16(one ? 1 : 0);
  out.raw(cased);
  out.u16(static_cast<std::uint16_t>(type));
  out.u16(static_cast<std::uint16_t>(Class::kIn));
  const std::uint8_t root = 0;
  out.raw({&root, 1});
  out.u16(static_cast<std::uint16_t>(Type::kOpt));
  out.u16(kUdpPayload);
  out.u32(0);
  out.u16(0);
  return question;
}

Result<UpstreamAnswer> parse_answer(std::span<const std::uint8_t> message, const UpstreamQuestion& question,
                                    CaseCheck check) {
  if (message.size() < kHeaderSize) return malformed("shorter than a header");
  WireReader reader(message);
  std::uint16_t id = *reader.u16(), flags = *reader.u16();
  if (id != question.id) return malformed("another transaction's id");
  if ((flags & header::kResponse) == 0 || header::opcode(flags) != 0) return malformed("not a response to a query");
  if ((flags & header::kTruncated) != 0) return malformed("truncated");
  if (*reader.u16() != 1) return malformed("not exactly one question");
  const std::uint16_t counts[3] = {*reader.u16(), *reader.u16(), *reader.u16()};

  auto name = Name::read_plain(message, reader.position());
  auto type = reader.u16(), klass = reader.u16();
  if (!name || !type || !klass) return malformed("the question is malformed");
  bool same = check == CaseCheck::kExact ? *name == question.name : name->equals_ignoring_case(question.name);
  if (!same || static_cast<Type>(*type) != question.type || static_cast<Class>(*klass) != Class::kIn)
    return malformed("answers another question");

  BOOST_OUTCOME_TRY(auto records, read_records(reader, counts, question.type));
  auto rcode = static_cast<Rcode>((flags & header::kRcode) | records.extended_rcode.value_or(0));
  UpstreamAnswer answer;
  if (rcode == Rcode::kNoError) {
    BOOST_OUTCOME_TRY(auto followed, follow(records, question.name));
    answer = std::move(followed);
  } else if (rcode == Rcode::kNxDomain) {
    answer.kind = UpstreamAnswer::Kind::kNxDomain;
    answer.ttl = records.negative_ttl.value_or(0);
  }
  answer.rcode = rcode;
  return answer;
}

}  // namespace sallyport::dns
