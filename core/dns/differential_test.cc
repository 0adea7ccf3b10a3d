// The codec beside ldns, an independent one, in both directions: whatever we take ldns takes and reads the same, what we
// write it reads as it was meant, and what it writes we read. On made-up messages, on damaged ones, and on the corpora of
// the fuzz targets. Seeds are fixed: a failure repeats.
#include <gtest/gtest.h>
#include <ldns/ldns.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <vector>

#include "core/dns/query.h"
#include "core/dns/response.h"
#include "core/dns/upstream_message.h"
#include "core/dns/wire.h"

namespace sallyport::dns {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct PacketFree {
  void operator()(ldns_pkt* packet) const { ldns_pkt_free(packet); }
};
using Packet = std::unique_ptr<ldns_pkt, PacketFree>;

Packet read_by_ldns(std::span<const std::uint8_t> message) {
  ldns_pkt* packet = nullptr;
  if (ldns_wire2pkt(&packet, message.data(), message.size()) != LDNS_STATUS_OK) return nullptr;
  return Packet(packet);
}
Bytes written_by_ldns(const ldns_pkt* packet) {
  std::uint8_t* wire = nullptr;
  std::size_t size = 0;
  if (ldns_pkt2wire(&wire, packet, &size) != LDNS_STATUS_OK) return {};
  Bytes out(wire, wire + size);
  free(wire);
  return out;
}
std::span<const std::uint8_t> bytes_of(const ldns_rdf* rdf) { return {ldns_rdf_data(rdf), ldns_rdf_size(rdf)}; }
bool same(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) { return std::ranges::equal(a, b); }
std::string hex(std::span<const std::uint8_t> bytes) {
  std::string out;
  for (auto byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

class Source {
 public:
  explicit Source(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(engine_() % bound); }
  std::uint8_t byte() { return static_cast<std::uint8_t>(engine_() & 0xff); }
  bool once_in(std::uint32_t n) { return below(n) == 0; }

  HostName host() {
    static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string text;
    for (std::uint32_t labels = 1 + below(6); labels > 0; --labels) {
      for (std::uint32_t size = 1 + below(once_in(20) ? 62 : 12); size > 0; --size) text += kLetters[below(kLetters.size())];
      if (text.ends_with('-')) text += 'x';
      text += '.';
    }
    std::ranges::transform(std::string(text), text.begin(), [at_start = true](char c) mutable {
      char out = at_start && c == '-' ? 'y' : c;
      at_start = c == '.';
      return out;
    });
    auto made = HostName::parse(text + "test");
    return made ? made.value() : HostName::parse("longest.test").value();
  }
  IpAddress v4() { return IpAddress::v4({byte(), byte(), byte(), byte()}); }
  IpAddress v6() {
    std::array<std::uint8_t, 16> octets{};
    for (auto& octet : octets) octet = byte();
    return IpAddress::v6(octets);
  }
  // Some bytes changed, cut off, added or doubled.
  Bytes damaged(Bytes message) {
    for (std::uint32_t changes = 1 + below(4); changes > 0 && !message.empty(); --changes) {
      auto at = message.begin() + below(static_cast<std::uint32_t>(message.size()));
      switch (below(5)) {
        case 0: *at = byte(); break;
        case 1: *at = static_cast<std::uint8_t>(*at ^ 1u << below(8)); break;
        case 2: message.erase(at, message.end()); break;
        case 3: message.insert(at, byte()); break;
        default: *at = static_cast<std::uint8_t>(once_in(2) ? 0xc0 : 0x0c); break;
      }
    }
    return message;
  }

 private:
  std::mt19937 engine_;
};

ldns_rdf* dname(const HostName& name) { return ldns_dname_new_frm_str((std::string(name.text()) + ".").c_str()); }

// --- questions of the sandbox ---

Bytes question_of_ldns(Source& source, const HostName& name, ldns_rr_type type) {
  Packet packet(ldns_pkt_query_new(dname(name), type, LDNS_RR_CLASS_IN, source.once_in(2) ? LDNS_RD : 0));
  ldns_pkt_set_id(packet.get(), static_cast<std::uint16_t>(source.below(65536)));
  if (source.once_in(4)) ldns_pkt_set_cd(packet.get(), true);
  if (!source.once_in(3)) {
    ldns_pkt_set_edns_udp_size(packet.get(), static_cast<std::uint16_t>(source.below(65536)));
    ldns_pkt_set_edns_do(packet.get(), source.once_in(2));
  }
  return written_by_ldns(packet.get());
}

// True if we took it. If so, ldns must have read the same.
bool question_is_read_alike(std::span<const std::uint8_t> message) {
  auto parsed = parse_query(message);
  const auto* query = std::get_if<Query>(&parsed);
  if (query == nullptr) return false;
  auto packet = read_by_ldns(message);
  EXPECT_TRUE(packet) << "taken, but not by ldns: " << hex(message);
  if (!packet) return true;
  EXPECT_EQ(ldns_pkt_id(packet.get()), query->id);
  EXPECT_EQ(ldns_pkt_rd(packet.get()), query->recursion_desired);
  EXPECT_EQ(ldns_pkt_cd(packet.get()), query->checking_disabled);
  EXPECT_FALSE(ldns_pkt_qr(packet.get()) || ldns_pkt_tc(packet.get()));
  EXPECT_EQ(ldns_pkt_get_opcode(packet.get()), LDNS_PACKET_QUERY);
  EXPECT_EQ(ldns_pkt_qdcount(packet.get()), 1);
  EXPECT_EQ(ldns_pkt_ancount(packet.get()) + ldns_pkt_nscount(packet.get()), 0);
  const ldns_rr* question = ldns_rr_list_rr(ldns_pkt_question(packet.get()), 0);
  EXPECT_TRUE(same(bytes_of(ldns_rr_owner(question)), query->question.name.wire())) << hex(message);
  EXPECT_EQ(static_cast<unsigned>(ldns_rr_get_type(question)), static_cast<unsigned>(query->question.type));
  EXPECT_EQ(static_cast<unsigned>(ldns_rr_get_class(question)), static_cast<unsigned>(query->question.klass));
  EXPECT_EQ(ldns_pkt_edns(packet.get()) || ldns_pkt_edns_udp_size(packet.get()) != 0 || ldns_pkt_edns_do(packet.get()) ||
                ldns_pkt_edns_data(packet.get()) != nullptr || !query->has_edns || query->udp_size == kPlainUdpPayload,
            true)
      << hex(message);
  if (query->has_edns) {
    EXPECT_EQ(std::max(ldns_pkt_edns_udp_size(packet.get()), kPlainUdpPayload), query->udp_size);
    EXPECT_EQ(ldns_pkt_edns_do(packet.get()), query->dnssec_ok);
    EXPECT_EQ(ldns_pkt_edns_version(packet.get()), 0);
  }
  return true;
}

TEST(BesideLdns, QuestionsThatItWritesAreTakenAndReadAlike) {
  Source source(1);
  for (int i = 0; i < 3000; ++i) {
    auto type = static_cast<ldns_rr_type>(source.once_in(3) ? 1 + source.below(300) : source.once_in(2) ? 1 : 28);
    auto message = question_of_ldns(source, source.host(), type);
    ASSERT_TRUE(question_is_read_alike(message)) << hex(message);
  }
}

TEST(BesideLdns, DamagedQuestionsAreRefusedOrReadAlike) {
  Source source(2);
  int taken = 0;
  for (int i = 0; i < 20000; ++i) {
    auto message = source.damaged(question_of_ldns(source, source.host(), LDNS_RR_TYPE_A));
    taken += question_is_read_alike(message) ? 1 : 0;
    if (HasFailure()) FAIL() << "message " << i;
  }
  EXPECT_GT(taken, 1000);
  EXPECT_LT(taken, 19000);
}

// --- replies to the sandbox ---

// What write_response made of `response`, read by ldns.
void reply_says_what_was_meant(const Query& query, const Response& response, Transport transport) {
  Bytes out(kResponseBuffer);
  out.resize(write_response(query, response, transport, out));
  auto packet = read_by_ldns(out);
  ASSERT_TRUE(packet) << hex(out);
  EXPECT_EQ(ldns_pkt_id(packet.get()), query.id);
  EXPECT_TRUE(ldns_pkt_qr(packet.get()) && ldns_pkt_ra(packet.get()));
  EXPECT_FALSE(ldns_pkt_aa(packet.get()) || ldns_pkt_ad(packet.get()));
  EXPECT_EQ(static_cast<unsigned>(ldns_pkt_get_rcode(packet.get())), static_cast<unsigned>(response.rcode) & 0xf);
  EXPECT_EQ(ldns_pkt_qdcount(packet.get()), 1);
  const ldns_rr* question = ldns_rr_list_rr(ldns_pkt_question(packet.get()), 0);
  EXPECT_TRUE(same(bytes_of(ldns_rr_owner(question)), query.question.name.wire()));
  if (ldns_pkt_tc(packet.get())) {
    EXPECT_EQ(ldns_pkt_ancount(packet.get()), 0);
    return;
  }
  const ldns_rr_list* answers = ldns_pkt_answer(packet.get());
  ASSERT_EQ(ldns_rr_list_rr_count(answers), response.addresses.size());
  for (std::size_t i = 0; i < response.addresses.size(); ++i) {
    const ldns_rr* record = ldns_rr_list_rr(answers, i);
    EXPECT_TRUE(same(bytes_of(ldns_rr_owner(record)), query.question.name.wire()));
    EXPECT_EQ(ldns_rr_ttl(record), response.ttl);
    EXPECT_TRUE(same(bytes_of(ldns_rr_rdf(record, 0)), response.addresses[i].bytes()));
  }
  EXPECT_EQ(ldns_pkt_nscount(packet.get()), response.negative_soa ? 1 : 0);
  if (query.has_edns && response.extended_error) {
    auto option = bytes_of(ldns_pkt_edns_data(packet.get()));
    ASSERT_GE(option.size(), 6u);
    EXPECT_EQ(option[1], 15);
    EXPECT_EQ(option[4] << 8 | option[5], static_cast<int>(response.extended_error->code));
  }
}

TEST(BesideLdns, RepliesSayWhatWasMeant) {
  Source source(3);
  for (int i = 0; i < 3000; ++i) {
    auto parsed = parse_query(question_of_ldns(source, source.host(), LDNS_RR_TYPE_A));
    const auto& query = std::get<Query>(parsed);
    std::vector<IpAddress> addresses;
    for (std::uint32_t n = source.below(source.once_in(10) ? 80 : 4); n > 0; --n)
      addresses.push_back(source.once_in(2) ? source.v4() : source.v6());
    std::string text(source.below(300), 'e');
    Response response{.rcode = source.once_in(2) ? Rcode::kNoError : Rcode::kNxDomain,
                      .ttl = source.below(1u << 31),
                      .addresses = addresses,
                      .negative_soa = source.once_in(2)};
    if (source.once_in(2)) response.extended_error = ExtendedError{ExtendedCode::kBlocked, text};
    reply_says_what_was_meant(query, response, source.once_in(2) ? Transport::kUdp : Transport::kTcp);
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "reply " << i;
  }
}

// --- questions and answers of upstream servers ---

// The addresses at the end of the chain of aliases, as ldns's reading of the message has them.
std::vector<Bytes> addresses_by_ldns(const ldns_pkt* packet, const Name& asked, ldns_rr_type type) {
  auto lower = [](std::span<const std::uint8_t> name) {
    Bytes out(name.begin(), name.end());
    for (auto& byte : out)
      if (byte >= 'A' && byte <= 'Z') byte = static_cast<std::uint8_t>(byte + 32);
    return out;
  };
  const ldns_rr_list* answers = ldns_pkt_answer(packet);
  Bytes current = lower(asked.wire());
  std::vector<Bytes> out;
  for (std::size_t step = 0; step <= kMaxChain + 1; ++step) {
    Bytes next;
    for (std::size_t i = 0; i < ldns_rr_list_rr_count(answers); ++i) {
      const ldns_rr* record = ldns_rr_list_rr(answers, i);
      if (ldns_rr_get_class(record) == LDNS_RR_CLASS_IN && ldns_rr_get_type(record) == LDNS_RR_TYPE_CNAME &&
          lower(bytes_of(ldns_rr_owner(record))) == current)
        next = lower(bytes_of(ldns_rr_rdf(record, 0)));
    }
    if (next.empty()) break;
    current = next;
  }
  for (std::size_t i = 0; i < ldns_rr_list_rr_count(answers); ++i) {
    const ldns_rr* record = ldns_rr_list_rr(answers, i);
    if (ldns_rr_get_class(record) != LDNS_RR_CLASS_IN || ldns_rr_get_type(record) != type) continue;
    if (lower(bytes_of(ldns_rr_owner(record))) != current) continue;
    auto data = bytes_of(ldns_rr_rdf(record, 0));
    Bytes address(data.begin(), data.end());
    if (std::ranges::find(out, address) == out.end()) out.push_back(address);
  }
  return out;
}

// A message that we have taken may hold records that we do not look into: of other types, of other classes, or in another
// section than they count in. ldns does look.
bool holds_what_is_skipped(std::span<const std::uint8_t> message, Type wanted) {
  WireReader reader(message, kHeaderSize - 6);
  const unsigned counts[] = {*reader.u16(), *reader.u16(), *reader.u16()};
  (void)Name::read_plain(message, reader.position());
  (void)reader.u32();
  for (unsigned section = 0; section < 3; ++section) {
    for (unsigned i = 0; i < counts[section]; ++i) {
      (void)Name::read(message, reader.position());
      auto type = static_cast<Type>(*reader.u16());
      auto klass = *reader.u16();
      (void)reader.u32();
      (void)reader.take(*reader.u16());
      bool looked_at = section == 0   ? klass == 1 && (type == wanted || type == Type::kCname)
                       : section == 1 ? klass == 1 && type == Type::kSoa
                                      : type == Type::kOpt;
      if (!looked_at) return true;
    }
  }
  return false;
}

bool answer_is_read_alike(std::span<const std::uint8_t> message, const UpstreamQuestion& question) {
  auto ours = parse_answer(message, question, CaseCheck::kIgnore);
  if (!ours) return false;
  auto packet = read_by_ldns(message);
  EXPECT_TRUE(packet || holds_what_is_skipped(message, question.type)) << "taken, but not by ldns: " << hex(message);
  if (!packet) return true;
  EXPECT_EQ(ldns_pkt_id(packet.get()), question.id);
  EXPECT_TRUE(ldns_pkt_qr(packet.get()));
  if (ours.value().rcode == Rcode::kNoError) {
    auto theirs = addresses_by_ldns(packet.get(), question.name, static_cast<ldns_rr_type>(question.type));
    std::vector<Bytes> addresses;
    for (const IpAddress& address : ours.value().addresses) addresses.emplace_back(address.bytes().begin(), address.bytes().end());
    EXPECT_EQ(addresses, theirs) << hex(message);
  }
  return true;
}

ldns_rr* record(const HostName& owner, ldns_rr_type type, std::uint32_t ttl, ldns_rdf* data) {
  ldns_rr* made = ldns_rr_new();
  ldns_rr_set_owner(made, dname(owner));
  ldns_rr_set_type(made, type);
  ldns_rr_set_class(made, LDNS_RR_CLASS_IN);
  ldns_rr_set_ttl(made, ttl);
  ldns_rr_push_rdf(made, data);
  return made;
}
ldns_rdf* address_data(const IpAddress& address) {
  return ldns_rdf_new_frm_data(address.is_v4() ? LDNS_RDF_TYPE_A : LDNS_RDF_TYPE_AAAA, address.bytes().size(), address.bytes().data());
}

// An answer as servers write them: a chain, addresses at its end, others beside it, names compressed.
Bytes answer_of_ldns(Source& source, const UpstreamQuestion& question) {
  auto type = static_cast<ldns_rr_type>(question.type);
  HostName current = question.name.host_name().value();
  Packet packet(ldns_pkt_query_new(dname(current), type, LDNS_RR_CLASS_IN, LDNS_RD));
  ldns_pkt_set_id(packet.get(), question.id);
  ldns_pkt_set_qr(packet.get(), true);
  ldns_pkt_set_ra(packet.get(), true);
  auto push = [&](ldns_pkt_section section, ldns_rr* made) { ldns_pkt_push_rr(packet.get(), section, made); };
  for (std::uint32_t n = source.below(4); n > 0; --n) {
    HostName target = source.host();
    push(LDNS_SECTION_ANSWER, record(current, LDNS_RR_TYPE_CNAME, source.below(600), dname(target)));
    current = target;
  }
  for (std::uint32_t n = source.below(6); n > 0; --n) {
    bool wanted = !source.once_in(5);
    bool v4 = (type == LDNS_RR_TYPE_A) == wanted;
    auto address = v4 ? source.v4() : source.v6();
    push(LDNS_SECTION_ANSWER, record(source.once_in(6) ? source.host() : current, v4 ? LDNS_RR_TYPE_A : LDNS_RR_TYPE_AAAA, source.below(600), address_data(address)));
  }
  if (source.once_in(3)) push(LDNS_SECTION_AUTHORITY, record(current, LDNS_RR_TYPE_NS, 60, dname(source.host())));
  if (source.once_in(3)) push(LDNS_SECTION_ADDITIONAL, record(source.host(), LDNS_RR_TYPE_A, 60, address_data(source.v4())));
  if (source.once_in(2)) ldns_pkt_set_edns_udp_size(packet.get(), 1232);
  return written_by_ldns(packet.get());
}

UpstreamQuestion question_for(Source& source) {
  return make_question(source.host(), source.once_in(2) ? Type::kA : Type::kAaaa);
}

TEST(BesideLdns, AnswersThatItWritesAreTakenAndReadAlike) {
  Source source(4);
  int taken = 0;
  for (int i = 0; i < 3000; ++i) {
    auto question = question_for(source);
    auto message = answer_of_ldns(source, question);
    bool read = answer_is_read_alike(message, question);
    EXPECT_TRUE(read) << hex(message);
    taken += read ? 1 : 0;
    if (HasFailure()) FAIL() << "answer " << i;
  }
  EXPECT_EQ(taken, 3000);
}

TEST(BesideLdns, DamagedAnswersAreRefusedOrReadAlike) {
  Source source(5);
  int taken = 0;
  for (int i = 0; i < 20000; ++i) {
    auto question = question_for(source);
    taken += answer_is_read_alike(source.damaged(answer_of_ldns(source, question)), question) ? 1 : 0;
    if (HasFailure()) FAIL() << "answer " << i;
  }
  EXPECT_GT(taken, 500);
  EXPECT_LT(taken, 19500);
}

TEST(BesideLdns, QuestionsThatWeAskAreReadAsMeant) {
  Source source(6);
  for (int i = 0; i < 500; ++i) {
    auto question = question_for(source);
    ASSERT_TRUE(question_is_read_alike(question.wire));
    auto packet = read_by_ldns(question.wire);
    EXPECT_EQ(ldns_pkt_edns_data(packet.get()), nullptr) << "no option, whatever a server might like to know";
    EXPECT_EQ(ldns_pkt_edns_udp_size(packet.get()), kUdpPayload);
  }
}

// --- what the fuzzers found worth keeping ---

std::vector<Bytes> corpus(const std::string& folder) {
  std::vector<Bytes> out;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(SALLYPORT_SOURCE_DIR) + "/" + folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return out;
}

TEST(BesideLdns, CorporaAreReadAlike) {
  Source source(7);
  auto name = HostName::parse("www.allowed.test").value();
  std::size_t files = 0;
  for (auto folder : {"core/dns/corpus/dns_query_fuzz", "core/dns/corpus/dns_answer_fuzz", "resolver/answers/corpus/dns_answers_fuzz"}) {
    for (const Bytes& seed : corpus(folder)) {
      ++files;
      for (int i = 0; i < 200; ++i) {
        auto message = i == 0 ? seed : source.damaged(seed);
        question_is_read_alike(message);
        for (Type type : {Type::kA, Type::kAaaa})
          answer_is_read_alike(message, {.id = 0x1234, .name = Name::of(name), .type = type, .wire = {}});
      }
    }
  }
  EXPECT_GT(files, 20u);
}

}  // namespace
}  // namespace sallyport::dns
