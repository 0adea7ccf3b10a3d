#include "core/dns/upstream_message.h"

#include <gtest/gtest.h>
#include <ldns/ldns.h>

#include <memory>

#include "core/dns/query.h"
#include "core/dns/test_message.h"

namespace sallyport::dns {
namespace {

using testing::Message;
using Kind = UpstreamAnswer::Kind;

HostName host(std::string_view text) { return HostName::parse(text).value(); }

std::string name_of(std::string_view dotted) { return Message().name(dotted).text; }
std::string v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  return Message().u8(a).u8(b).u8(c).u8(d).text;
}

// The reply's beginning as an honest server would write it.
Message reply_to(const UpstreamQuestion& question, std::uint16_t answers, std::uint16_t authorities = 0,
                 std::uint16_t additionals = 0, std::uint16_t flags = 0x8180) {
  Message message;
  auto name = question.name.wire();
  message.header(question.id, flags, 1, answers, authorities, additionals)
      .raw({reinterpret_cast<const char*>(name.data()), name.size()})
      .u16(static_cast<std::uint16_t>(question.type))
      .u16(1);
  return message;
}

Result<UpstreamAnswer> read(const Message& message, const UpstreamQuestion& question,
                            CaseCheck check = CaseCheck::kExact) {
  return parse_answer(testing::bytes(message.text), question, check);
}

std::vector<std::string> texts(const UpstreamAnswer& answer) {
  std::vector<std::string> out;
  for (const auto& address : answer.addresses) out.push_back(address.text());
  return out;
}

TEST(MakeQuestion, IsAQuestionThatOurStrictParserAndLdnsAccept) {
  auto question = make_question(host("www.allowed.test"), Type::kAaaa);
  auto parsed = parse_query(question.wire);
  ASSERT_TRUE(std::holds_alternative<Query>(parsed));
  const Query& query = std::get<Query>(parsed);
  EXPECT_EQ(query.id, question.id);
  EXPECT_EQ(query.question.name, question.name);
  EXPECT_EQ(query.question.type, Type::kAaaa);
  EXPECT_EQ(query.udp_size, kUdpPayload);
  EXPECT_FALSE(query.dnssec_ok);
  EXPECT_EQ(query.question.name.host_name().value(), host("www.allowed.test"));
  ldns_pkt* packet = nullptr;
  ASSERT_EQ(ldns_wire2pkt(&packet, question.wire.data(), question.wire.size()), LDNS_STATUS_OK);
  EXPECT_EQ(ldns_pkt_edns_data(packet), nullptr);
  ldns_pkt_free(packet);
}

TEST(MakeQuestion, VariesIdAndCase) {
  int ids = 0, cases = 0;
  auto first = make_question(host("abcdefghijklmnop.test"), Type::kA);
  for (int i = 0; i < 20; ++i) {
    auto next = make_question(host("abcdefghijklmnop.test"), Type::kA);
    ids += next.id != first.id ? 1 : 0;
    cases += next.name == first.name ? 0 : 1;
  }
  EXPECT_GT(ids, 15);
  EXPECT_GT(cases, 15);
}

TEST(ParseAnswer, ReadsAddressesAndTheLeastTtl) {
  auto question = make_question(host("allowed.test"), Type::kA);
  auto answer = read(reply_to(question, 2)
                         .record("allowed.test", 1, 300, v4(192, 0, 2, 1))
                         .record("ALLOWED.test", 1, 60, v4(192, 0, 2, 2)),
                     question);
  ASSERT_TRUE(answer) << answer.error().detail;
  EXPECT_EQ(answer.value().kind, Kind::kFound);
  EXPECT_EQ(texts(answer.value()), (std::vector<std::string>{"192.0.2.1", "192.0.2.2"}));
  EXPECT_EQ(answer.value().ttl, 60u);
}

// dns-013
TEST(ParseAnswer, FollowsCnames) {
  auto question = make_question(host("allowed.test"), Type::kA);
  auto answer = read(reply_to(question, 3)
                         .record("cdn.test", 1, 300, v4(192, 0, 2, 9))
                         .record("allowed.test", 5, 20, name_of("mid.test"))
                         .record("mid.test", 5, 90, name_of("cdn.test")),
                     question);
  ASSERT_TRUE(answer);
  EXPECT_EQ(texts(answer.value()), std::vector<std::string>{"192.0.2.9"});
  EXPECT_EQ(answer.value().ttl, 20u);
}

// dns-025
TEST(ParseAnswer, DropsRecordsOutsideTheChain) {
  auto question = make_question(host("allowed.test"), Type::kA);
  auto answer = read(reply_to(question, 3, 1, 1)
                         .record("bank.test", 1, 300, v4(192, 0, 2, 66))
                         .record("allowed.test", 1, 300, v4(192, 0, 2, 1))
                         .record("allowed.test", 28, 300, std::string(16, 'x'))
                         .record("allowed.test", 1, 300, v4(192, 0, 2, 67))
                         .record("allowed.test", 1, 300, v4(192, 0, 2, 68)),
                     question);
  ASSERT_TRUE(answer);
  EXPECT_EQ(texts(answer.value()), std::vector<std::string>{"192.0.2.1"});
}

TEST(ParseAnswer, IgnoresAddressesOfANameThatIsAnAlias) {
  auto question = make_question(host("allowed.test"), Type::kA);
  auto answer = read(reply_to(question, 2)
                         .record("allowed.test", 1, 300, v4(192, 0, 2, 1))
                         .record("allowed.test", 5, 300, name_of("gone.test")),
                     question);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer.value().kind, Kind::kNoData);
  EXPECT_TRUE(answer.value().addresses.empty());
}

TEST(ParseAnswer, DeniesLoopsAndForksOfCnames) {
  auto question = make_question(host("a.test"), Type::kA);
  EXPECT_FALSE(
      read(reply_to(question, 2).record("a.test", 5, 1, name_of("b.test")).record("b.test", 5, 1, name_of("a.test")),
           question));
  EXPECT_FALSE(read(reply_to(question, 1).record("a.test", 5, 1, name_of("a.test")), question));
  EXPECT_FALSE(
      read(reply_to(question, 2).record("a.test", 5, 1, name_of("b.test")).record("a.test", 5, 1, name_of("c.test")),
           question));
  auto chain = [&](int length) {
    auto message = reply_to(question, static_cast<std::uint16_t>(length));
    std::string owner = "a.test";
    for (int i = 0; i < length; ++i) {
      std::string next = "n" + std::to_string(i) + ".test";
      message.record(owner, 5, 1, name_of(next));
      owner = next;
    }
    return message;
  };
  EXPECT_TRUE(read(chain(static_cast<int>(kMaxChain)), question));
  EXPECT_FALSE(read(chain(static_cast<int>(kMaxChain) + 1), question));
}

// dns-025
TEST(ParseAnswer, DeniesRepliesToOtherQuestions) {
  auto question = make_question(host("allowed.test"), Type::kA);
  auto good = reply_to(question, 1).record("allowed.test", 1, 1, v4(192, 0, 2, 1));
  ASSERT_TRUE(read(good, question));
  auto other_id = good;
  other_id.text[1] = static_cast<char>(other_id.text[1] ^ 1);
  EXPECT_FALSE(read(other_id, question));

  auto other_name = make_question(host("allowee.test"), Type::kA);
  other_name.id = question.id;
  EXPECT_FALSE(read(good, other_name));
  auto other_type = question;
  other_type.type = Type::kAaaa;
  EXPECT_FALSE(read(good, other_type));

  auto other_case = good;
  other_case.text[kHeaderSize + 1] = static_cast<char>(other_case.text[kHeaderSize + 1] ^ 0x20);
  EXPECT_FALSE(read(other_case, question));
  EXPECT_TRUE(read(other_case, question, CaseCheck::kIgnore));
}

TEST(ParseAnswer, DeniesQueriesTruncationAndOtherOpcodes) {
  auto question = make_question(host("allowed.test"), Type::kA);
  for (std::uint16_t flags : std::initializer_list<std::uint16_t>{0x0180, 0x8380, 0xa980})
    EXPECT_FALSE(read(reply_to(question, 0, 0, 0, flags), question)) << flags;
  EXPECT_TRUE(read(reply_to(question, 0), question));
}

TEST(ParseAnswer, TellsNegativeAnswersApart) {
  auto question = make_question(host("allowed.test"), Type::kA);
  std::string soa = name_of("ns.test") + name_of("root.test") + Message().u32(1).u32(2).u32(3).u32(4).u32(15).text;
  auto missing = read(reply_to(question, 0, 1, 0, 0x8183).record("test", 6, 900, soa), question);
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing.value().kind, Kind::kNxDomain);
  EXPECT_EQ(missing.value().ttl, 15u);
  auto empty = read(reply_to(question, 0, 1).record("test", 6, 7, soa), question);
  EXPECT_EQ(empty.value().kind, Kind::kNoData);
  EXPECT_EQ(empty.value().ttl, 7u);
  EXPECT_EQ(read(reply_to(question, 0), question).value().ttl, 0u);
  for (std::uint16_t rcode : std::initializer_list<std::uint16_t>{1, 2, 4, 5, 9})
    EXPECT_EQ(read(reply_to(question, 0, 0, 0, static_cast<std::uint16_t>(0x8180 | rcode)), question).value().kind,
              Kind::kServerFailure);
  // An extended RCODE is a failure even though the header says 0.
  EXPECT_EQ(read(reply_to(question, 0, 0, 1).opt(1232, 0x01000000, ""), question).value().rcode, Rcode::kBadVers);
}

TEST(ParseAnswer, AddressesBesideNxdomainAreNoAddresses) {
  auto question = make_question(host("allowed.test"), Type::kA);
  auto answer = read(reply_to(question, 1, 0, 0, 0x8183).record("allowed.test", 1, 1, v4(192, 0, 2, 1)), question);
  EXPECT_EQ(answer.value().kind, Kind::kNxDomain);
  EXPECT_TRUE(answer.value().addresses.empty());
}

TEST(ParseAnswer, DeniesEveryCutAndEveryExtraByte) {
  auto question = make_question(host("allowed.test"), Type::kAaaa);
  auto whole = reply_to(question, 2, 0, 1)
                   .record("allowed.test", 5, 1, name_of("b.test"))
                   .record("b.test", 28, 1, std::string(16, ' '))
                   .opt(1232, 0, "");
  ASSERT_TRUE(read(whole, question));
  for (std::size_t size = 0; size < whole.text.size(); ++size) {
    Message cut{whole.text.substr(0, size)};
    EXPECT_FALSE(read(cut, question)) << size;
  }
  whole.u8(0);
  EXPECT_FALSE(read(whole, question));
}

TEST(ParseAnswer, DeniesRecordsOfTheWrongLength) {
  auto question = make_question(host("allowed.test"), Type::kA);
  EXPECT_FALSE(read(reply_to(question, 1).record("allowed.test", 1, 1, std::string(16, 'x')), question));
  EXPECT_FALSE(read(reply_to(question, 1).record("allowed.test", 1, 1, ""), question));
  EXPECT_FALSE(read(reply_to(question, 1).record("allowed.test", 5, 1, name_of("b.test") + "x"), question));
  EXPECT_FALSE(read(reply_to(question, 1).record("allowed.test", 5, 1, "\x01"), question));
}

TEST(ParseAnswer, DeniesMoreRecordsThanItsLimit) {
  auto question = make_question(host("a.test"), Type::kA);
  auto many = [&](std::size_t count) {
    auto message = reply_to(question, static_cast<std::uint16_t>(count));
    for (std::size_t i = 0; i < count; ++i)
      message.record("a.test", 1, 1,
                     v4(192, 0, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i & 0xff)));
    return message;
  };
  EXPECT_EQ(read(many(kMaxRecords), question).value().addresses.size(), kMaxRecords);
  EXPECT_FALSE(read(many(kMaxRecords + 1), question));
}

TEST(ParseAnswer, TreatsANegativeTtlAsZeroAndDropsDuplicates) {
  auto question = make_question(host("a.test"), Type::kA);
  auto answer = read(
      reply_to(question, 2).record("a.test", 1, 0x80000000u, v4(192, 0, 2, 1)).record("a.test", 1, 5, v4(192, 0, 2, 1)),
      question);
  EXPECT_EQ(answer.value().ttl, 0u);
  EXPECT_EQ(answer.value().addresses.size(), 1u);
}

// Whatever ldns writes, compressed, is read alike.
TEST(ParseAnswer, ReadsWhatLdnsWrites) {
  auto question = make_question(host("www.allowed.test"), Type::kAaaa);
  ldns_pkt* packet = nullptr;
  ASSERT_EQ(ldns_wire2pkt(&packet, question.wire.data(), question.wire.size()), LDNS_STATUS_OK);
  std::unique_ptr<ldns_pkt, decltype(&ldns_pkt_free)> owner(packet, &ldns_pkt_free);
  ldns_pkt_set_qr(packet, true);
  for (const char* line : {"www.allowed.test. 40 IN CNAME edge.cdn.test.", "edge.cdn.test. 50 IN AAAA 2001:db8::1",
                           "edge.cdn.test. 60 IN AAAA 2001:db8::2", "edge.cdn.test. 60 IN TXT \"no\""}) {
    ldns_rr* record = nullptr;
    ASSERT_EQ(ldns_rr_new_frm_str(&record, line, 0, nullptr, nullptr), LDNS_STATUS_OK);
    ldns_pkt_push_rr(packet, LDNS_SECTION_ANSWER, record);
  }
  std::uint8_t* wire = nullptr;
  std::size_t size = 0;
  ASSERT_EQ(ldns_pkt2wire(&wire, packet, &size), LDNS_STATUS_OK);
  std::unique_ptr<std::uint8_t, decltype(&free)> bytes(wire, &free);
  auto answer = parse_answer({wire, size}, question, CaseCheck::kExact);
  ASSERT_TRUE(answer) << answer.error().detail;
  EXPECT_EQ(texts(answer.value()), (std::vector<std::string>{"2001:db8::1", "2001:db8::2"}));
  EXPECT_EQ(answer.value().ttl, 40u);
}

}  // namespace
}  // namespace sallyport::dns
