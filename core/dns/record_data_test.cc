// RDATA of other types than addresses: what ldns writes, also compressed, comes out whole; what is malformed does not.
#include "core/dns/record_data.h"

#include <gtest/gtest.h>
#include <ldns/ldns.h>

#include <memory>

#include "core/dns/response.h"
#include "core/dns/test_message.h"
#include "core/dns/upstream_message.h"

namespace sallyport::dns {
namespace {

using testing::Message;
using Bytes = std::vector<std::uint8_t>;

struct PacketFree {
  void operator()(ldns_pkt* packet) const { ldns_pkt_free(packet); }
};
using Packet = std::unique_ptr<ldns_pkt, PacketFree>;
struct RecordFree {
  void operator()(ldns_rr* record) const { ldns_rr_free(record); }
};
using Record = std::unique_ptr<ldns_rr, RecordFree>;

Record record_of(const std::string& line) {
  ldns_rr* made = nullptr;
  EXPECT_EQ(ldns_rr_new_frm_str(&made, line.c_str(), 60, nullptr, nullptr), LDNS_STATUS_OK) << line;
  return Record(made);
}
Bytes data_of(const ldns_rr* record) {
  Bytes out;
  for (std::size_t i = 0; i < ldns_rr_rd_count(record); ++i) {
    const ldns_rdf* piece = ldns_rr_rdf(record, i);
    out.insert(out.end(), ldns_rdf_data(piece), ldns_rdf_data(piece) + ldns_rdf_size(piece));
  }
  return out;
}

// A reply to `question` as ldns writes it, names compressed.
Bytes reply(const UpstreamQuestion& question, const std::vector<std::string>& lines) {
  Packet packet(ldns_pkt_query_new(ldns_dname_new_frm_str("www.allowed.test."), static_cast<ldns_rr_type>(question.type),
                                   LDNS_RR_CLASS_IN, LDNS_RD));
  ldns_pkt_set_id(packet.get(), question.id);
  ldns_pkt_set_qr(packet.get(), true);
  for (const auto& line : lines) ldns_pkt_push_rr(packet.get(), LDNS_SECTION_ANSWER, record_of(line).release());
  std::uint8_t* wire = nullptr;
  std::size_t size = 0;
  EXPECT_EQ(ldns_pkt2wire(&wire, packet.get(), &size), LDNS_STATUS_OK);
  Bytes out(wire, wire + size);
  free(wire);
  return out;
}
UpstreamQuestion ask(Type type) { return make_question(HostName::parse("www.allowed.test").value(), type); }

const std::vector<std::pair<Type, std::string>> kSamples = {
    {Type::kNs, "ns.allowed.test."},
    {Type::kCname, "Other.allowed.test."},
    {Type::kSoa, "ns.allowed.test. root.allowed.test. 1 2 3 4 5"},
    {Type::kMx, "10 mail.allowed.test."},
    {Type::kTxt, "\"v=spf1 -all\" \"\" \"two\""},
    {Type::kSrv, "1 2 443 www.allowed.test."},
    {Type::kNaptr, "100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:x@allowed.test!\" ."},
    {Type::kDs, "60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118"},
    {Type::kSshfp, "2 1 123456789abcdef67890123456789abcdef67890"},
    {Type::kDnskey, "256 3 5 AQPSKmynfzW4kyBv015MUG2DeIQ3"},
    {Type::kTlsa, "3 1 1 d2abde240d7cd3ee6b4b28c54df034b97983a1d16e8a410e4561cb106618e971"},
    {Type::kSmimea, "3 0 0 00ff"},
    {Type::kOpenpgpkey, "AQPSKmyn"},
    {Type::kUri, "10 1 \"https://www.allowed.test/\""},
    {Type::kCaa, "0 issue \"ca.allowed.test\""},
};

TEST(RecordData, EachTypeComesOutAsLdnsMeantIt) {
  for (const auto& [type, text] : kSamples) {
    auto line = "www.allowed.test. 60 IN " + to_string(type) + " " + text;
    auto expected = data_of(record_of(line).get());
    auto question = ask(type);
    auto answer = parse_answer(reply(question, {line, line}), question, CaseCheck::kIgnore);
    ASSERT_TRUE(answer) << line << ": " << answer.error().detail;
    ASSERT_EQ(answer.value().records.size(), 1u) << line << ": equal ones stand once";
    if (type != Type::kCname) EXPECT_EQ(answer.value().records.front(), expected) << line;
    EXPECT_EQ(answer.value().ttl, 60u);
    EXPECT_TRUE(has_record_data(type));

    // And written for the task, ldns reads it.
    Query query;
    query.question = {question.name, type, Class::kIn};
    query.has_edns = true;
    query.udp_size = 1232;
    Bytes out(kResponseBuffer);
    out.resize(write_response(query, {.rcode = Rcode::kNoError, .ttl = 9, .records = answer.value().records}, Transport::kUdp, out));
    ldns_pkt* read = nullptr;
    ASSERT_EQ(ldns_wire2pkt(&read, out.data(), out.size()), LDNS_STATUS_OK) << line;
    Packet owner(read);
    ASSERT_EQ(ldns_pkt_ancount(read), 1) << line;
    const ldns_rr* record = ldns_rr_list_rr(ldns_pkt_answer(read), 0);
    EXPECT_EQ(data_of(record), answer.value().records.front()) << line;
    EXPECT_EQ(ldns_rr_ttl(record), 9u);
  }
}

TEST(RecordData, EveryShorterOrLongerFormIsRefused) {
  for (const auto& [type, text] : kSamples) {
    auto data = data_of(record_of("www.allowed.test. 60 IN " + to_string(type) + " " + text).get());
    ASSERT_TRUE(canonical_record_data(type, data, 0, data.size())) << text;
    bool open = type == Type::kDs || type == Type::kSshfp || type == Type::kDnskey || type == Type::kTlsa ||
                type == Type::kSmimea || type == Type::kOpenpgpkey || type == Type::kUri || type == Type::kCaa;
    Bytes longer = data;
    longer.push_back(1);
    EXPECT_EQ(canonical_record_data(type, longer, 0, longer.size()).has_value(), open) << text;
    for (std::size_t size = 0; size < data.size(); ++size) {
      auto cut = canonical_record_data(type, data, 0, size);
      if (cut) {
        EXPECT_TRUE(open || type == Type::kTxt) << text << " cut to " << size;
        EXPECT_EQ(cut->size(), size);
      }
    }
  }
  EXPECT_FALSE(canonical_record_data(Type::kCaa, Bytes{0, 2, 'a', '-', 'x'}, 0, 5)) << "a tag is letters and digits";
  EXPECT_FALSE(canonical_record_data(Type::kTxt, Bytes{2, 'a'}, 0, 2));
  EXPECT_FALSE(canonical_record_data(Type::kMx, Bytes{0, 1, 0xc0, 0x02}, 0, 4)) << "a pointer into itself goes nowhere";
}

TEST(RecordData, TypesThatLeadElsewhereAreNeverRead) {
  for (Type type : {Type::kA, Type::kAaaa, Type::kHttps, Type::kSvcb, Type::kNull, Type::kPtr, Type::kDname, Type::kAny, Type::kOpt,
                    static_cast<Type>(65399)}) {
    EXPECT_FALSE(has_record_data(type));
    EXPECT_FALSE(canonical_record_data(type, Bytes{1, 2, 3, 4}, 0, 4));
  }
}

TEST(RecordData, StandsAtTheEndOfAChainAndIsBounded) {
  auto question = ask(Type::kTxt);
  auto answer = parse_answer(reply(question, {"www.allowed.test. 20 IN CNAME deep.allowed.test.", "deep.allowed.test. 60 IN TXT \"yes\"",
                                              "www.allowed.test. 60 IN TXT \"no\"", "bank.test. 60 IN TXT \"no\""}),
                             question, CaseCheck::kIgnore);
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer.value().records.size(), 1u);
  EXPECT_EQ(answer.value().records.front(), (Bytes{3, 'y', 'e', 's'}));
  EXPECT_EQ(answer.value().ttl, 20u);

  std::vector<std::string> many;
  for (int i = 0; i < 100; ++i) many.push_back("www.allowed.test. 60 IN TXT \"" + std::string(250, 'x') + std::to_string(i) + "\"");
  EXPECT_FALSE(parse_answer(reply(question, many), question, CaseCheck::kIgnore));
  many.resize(50);
  auto fits = parse_answer(reply(question, many), question, CaseCheck::kIgnore);
  ASSERT_TRUE(fits);
  EXPECT_EQ(fits.value().records.size(), 50u);
  // Too much for a datagram, not for a stream.
  Query query;
  query.question = {question.name, Type::kTxt, Class::kIn};
  Bytes out(kTcpResponseBuffer);
  Response response{.rcode = Rcode::kNoError, .ttl = 1, .records = fits.value().records};
  EXPECT_LE(write_response(query, response, Transport::kUdp, out), 512u);
  EXPECT_TRUE((out[2] & 0x02) != 0) << "TC";
  EXPECT_GT(write_response(query, response, Transport::kTcp, out), 12'000u);
  EXPECT_FALSE((out[2] & 0x02) != 0);
}

TEST(RecordData, AnAliasThatWasAskedForIsTheAnswer) {
  auto question = ask(Type::kCname);
  auto answer = parse_answer(reply(question, {"www.allowed.test. 60 IN CNAME next.test.", "next.test. 60 IN CNAME last.test."}),
                             question, CaseCheck::kIgnore);
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer.value().records.size(), 1u);
  EXPECT_EQ(answer.value().records.front(), Bytes({4, 'n', 'e', 'x', 't', 4, 't', 'e', 's', 't', 0}));
}

}  // namespace
}  // namespace sallyport::dns
