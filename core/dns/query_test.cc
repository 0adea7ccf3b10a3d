#include "core/dns/query.h"

#include <gtest/gtest.h>

#include "core/dns/test_message.h"

namespace sallyport::dns {
namespace {

using testing::header_of;
using testing::Message;
using Reply = MalformedQuery::Reply;

Query accepted(const std::string& message) {
  auto parsed = parse_query(testing::bytes(message));
  EXPECT_TRUE(std::holds_alternative<Query>(parsed)) << std::get<MalformedQuery>(parsed).why;
  return std::holds_alternative<Query>(parsed) ? std::get<Query>(parsed) : Query{};
}
MalformedQuery refused(const std::string& message) {
  auto parsed = parse_query(testing::bytes(message));
  EXPECT_TRUE(std::holds_alternative<MalformedQuery>(parsed));
  return std::holds_alternative<MalformedQuery>(parsed) ? std::get<MalformedQuery>(parsed) : MalformedQuery{};
}

std::string plain_question() { return Message().header(0x1234, 0x0100, 1).name("allowed.test").u16(1).u16(1).text; }

TEST(ParseQuery, ReadsAnOrdinaryQuestion) {
  Query query = accepted(plain_question());
  EXPECT_EQ(query.id, 0x1234);
  EXPECT_TRUE(query.recursion_desired);
  EXPECT_FALSE(query.has_edns);
  EXPECT_EQ(query.udp_size, 512);
  EXPECT_EQ(query.question.type, Type::kA);
  EXPECT_EQ(query.question.klass, Class::kIn);
  EXPECT_EQ(query.question.name.host_name().value().text(), "allowed.test");
}

// dns-005
TEST(ParseQuery, ReadsEdnsAndForgetsItsOptions) {
  std::string option = Message().u16(65001).u16(200).raw(std::string(200, 'x')).text;
  Query query = accepted(
      Message().header(1, 0x0100, 1, 0, 0, 1).name("allowed.test").u16(28).u16(1).opt(4096, 0x8000, option).text);
  EXPECT_TRUE(query.has_edns);
  EXPECT_TRUE(query.dnssec_ok);
  EXPECT_EQ(query.udp_size, 4096);
  EXPECT_EQ(accepted(Message().header(1, 0, 1, 0, 0, 1).name("a.test").u16(1).u16(1).opt(100, 0, "").text).udp_size,
            512);
}

// dns-015
TEST(ParseQuery, KeepsTheCaseForTheReplyAndCanonicalisesTheName) {
  Query query = accepted(Message().header(1, 0, 1).name("DeNiEd.TeSt").u16(1).u16(1).text);
  EXPECT_EQ(query.question.name.host_name().value().text(), "denied.test");
  EXPECT_EQ(query.question.name.escaped(), "DeNiEd.TeSt");
}

// dns-016
TEST(ParseQuery, DeniesDotInsideLabel) {
  auto malformed = refused(Message()
                               .header(7, 0, 1)
                               .raw("\x13"
                                    "denied.allowed.test")
                               .u8(0)
                               .u16(1)
                               .u16(1)
                               .text);
  EXPECT_EQ(malformed.reply, Reply::kFormErr);
  EXPECT_EQ(malformed.id, 7);
  ASSERT_TRUE(malformed.name);
  EXPECT_EQ(malformed.name->escaped(), "denied\\x2eallowed\\x2etest");
}

// dns-017
TEST(ParseQuery, DeniesNulInsideLabel) {
  std::string name(
      "\x0b"
      "denied.\0xyz\x07"
      "allowed\x04test\0",
      26);
  auto malformed = refused(Message().header(7, 0, 1).raw(name).u16(1).u16(1).text);
  EXPECT_EQ(malformed.reply, Reply::kFormErr);
  EXPECT_EQ(malformed.name->escaped(), "denied\\x2e\\x00xyz.allowed.test");
  std::string only_nul(
      "\x03"
      "a\0b\x04test\0",
      10);
  EXPECT_EQ(refused(Message().header(7, 0, 1).raw(only_nul).u16(1).u16(1).text).reply, Reply::kFormErr);
}

// dns-018
TEST(ParseQuery, DeniesCompressionInTheQuestion) {
  EXPECT_EQ(refused(header_of(1) + std::string("\xc0\x0c\x00\x01\x00\x01", 6)).reply, Reply::kFormErr);
  EXPECT_EQ(refused(Message()
                        .header(1, 0, 1)
                        .raw("\x01"
                             "a")
                        .raw("\xc0\x0c")
                        .u16(1)
                        .u16(1)
                        .text)
                .reply,
            Reply::kFormErr);
  // A pointer that could be followed: to a zero byte of the header, the root.
  EXPECT_EQ(refused(Message()
                        .header(1, 0, 1)
                        .raw("\x01"
                             "a")
                        .raw("\xc0\x06")
                        .u16(1)
                        .u16(1)
                        .text)
                .reply,
            Reply::kFormErr);
  for (char type : {'\x40', '\x80'})
    EXPECT_EQ(
        refused(Message().header(1, 0, 1).u8(static_cast<std::uint8_t>(type)).raw("aaaa").u8(0).u16(1).u16(1).text)
            .reply,
        Reply::kFormErr);
}

// dns-019
TEST(ParseQuery, DeniesAnyNumberOfQuestionsButOne) {
  auto two = Message().header(1, 0, 2).name("allowed.test").u16(1).u16(1).name("denied.test").u16(1).u16(1).text;
  EXPECT_EQ(refused(two).reply, Reply::kFormErr);
  EXPECT_EQ(refused(header_of(0)).reply, Reply::kFormErr);
  // The count is what is judged, not only what follows it.
  EXPECT_EQ(refused(Message().header(1, 0, 2).name("allowed.test").u16(1).u16(1).text).reply, Reply::kFormErr);
}

// dns-020
TEST(ParseQuery, DeniesOtherOpcodes) {
  for (unsigned opcode = 1; opcode < 16; ++opcode) {
    auto malformed = refused(
        Message().header(1, static_cast<std::uint16_t>(opcode << 11), 1).name("allowed.test").u16(6).u16(1).text);
    EXPECT_EQ(malformed.reply, Reply::kNotImp);
    EXPECT_EQ(malformed.opcode, opcode);
  }
}

// dns-021
TEST(ParseQuery, DeniesTrailingBytesAndNoise) {
  EXPECT_EQ(refused(plain_question() + "x").reply, Reply::kFormErr);
  EXPECT_EQ(refused(plain_question() + std::string(1000, 'x')).reply, Reply::kFormErr);
  std::string noise(1200, '\0');
  std::uint32_t state = 1;
  for (int round = 0; round < 200; ++round) {
    for (char& c : noise) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    refused(noise);
  }
}

TEST(ParseQuery, DropsResponsesAndFragmentsOfHeaders) {
  EXPECT_EQ(refused(Message().header(1, 0x8000, 1).name("a.test").u16(1).u16(1).text).reply, Reply::kDrop);
  for (std::size_t size = 0; size < kHeaderSize; ++size)
    EXPECT_EQ(refused(plain_question().substr(0, size)).reply, Reply::kDrop);
}

TEST(ParseQuery, DeniesEveryCutOfAMessage) {
  auto whole = Message()
                   .header(1, 0, 1, 0, 0, 1)
                   .name("allowed.test")
                   .u16(1)
                   .u16(1)
                   .opt(1232, 0, std::string("\0\x0a\0\x02xy", 6))
                   .text;
  accepted(whole);
  for (std::size_t size = kHeaderSize; size < whole.size(); ++size)
    EXPECT_EQ(refused(whole.substr(0, size)).reply, Reply::kFormErr) << size;
}

TEST(ParseQuery, DeniesFlagsThatNoQuestionHas) {
  for (std::uint16_t flag : std::initializer_list<std::uint16_t>{0x0200, 0x0040, 0x0001, 0x0005})
    EXPECT_EQ(refused(Message().header(1, flag, 1).name("a.test").u16(1).u16(1).text).reply, Reply::kFormErr);
  for (std::uint16_t flag : std::initializer_list<std::uint16_t>{0x0100, 0x0020, 0x0010, 0x0400})
    accepted(Message().header(1, flag, 1).name("a.test").u16(1).u16(1).text);
}

TEST(ParseQuery, DeniesRecordsThatDoNotBelongToAQuestion) {
  auto record = Message().name("a.test").u16(1).u16(1).u16(0).u16(9).u16(4).raw("\x01\x02\x03\x04").text;
  auto question = [](int answers, int authorities, int additionals) {
    auto n = [](int v) { return static_cast<std::uint16_t>(v); };
    return Message().header(1, 0, 1, n(answers), n(authorities), n(additionals)).name("a.test").u16(1).u16(1).text;
  };
  EXPECT_EQ(refused(question(1, 0, 0) + record).reply, Reply::kFormErr);
  EXPECT_EQ(refused(question(0, 1, 0) + record).reply, Reply::kFormErr);
  EXPECT_EQ(refused(question(0, 0, 1) + record).reply, Reply::kFormErr);
  auto opt = Message().opt(1232, 0, "").text;
  accepted(question(0, 0, 1) + opt);
  EXPECT_EQ(refused(question(0, 0, 2) + opt + opt).reply, Reply::kFormErr);
  auto named_opt = Message().name("x").u16(41).u16(1232).u16(0).u16(0).u16(0).text;
  EXPECT_EQ(refused(question(0, 0, 1) + named_opt).reply, Reply::kFormErr);
}

TEST(ParseQuery, AnswersLaterEdnsVersionsWithBadVers) {
  EXPECT_EQ(
      refused(Message().header(1, 0, 1, 0, 0, 1).name("a.test").u16(1).u16(1).opt(1232, 0x00010000, "").text).reply,
      Reply::kBadVers);
}

TEST(ParseQuery, DeniesMalformedOptions) {
  for (auto options : {std::string("\0\x0a\0", 3), std::string("\0\x0a\0\x05xy", 6), std::string("\0", 1)})
    EXPECT_EQ(refused(Message().header(1, 0, 1, 0, 0, 1).name("a.test").u16(1).u16(1).opt(1232, 0, options).text).reply,
              Reply::kFormErr);
}

TEST(ParseQuery, DeniesLongMessages) {
  auto with_padding = [](std::size_t size) {
    auto padding = Message().u16(12).u16(static_cast<std::uint16_t>(size)).raw(std::string(size, '\0')).text;
    return Message().header(1, 0, 1, 0, 0, 1).name("a.test").u16(1).u16(1).opt(1232, 0, padding).text;
  };
  std::size_t around = with_padding(0).size();
  accepted(with_padding(kMaxQuery - around));
  EXPECT_EQ(refused(with_padding(kMaxQuery - around + 1)).reply, Reply::kFormErr);
}

TEST(Name, HoldsTheLongestAndDeniesALongerOne) {
  std::string label(63, 'a'), longest = label + "." + label + "." + label + "." + std::string(61, 'b');
  accepted(Message().header(1, 0, 1).name(longest).u16(1).u16(1).text);
  EXPECT_EQ(refused(Message().header(1, 0, 1).name(longest + "b").u16(1).u16(1).text).reply, Reply::kFormErr);
  auto host = HostName::parse(longest).value();
  EXPECT_EQ(Name::of(host).host_name().value(), host);
  Name name = Name::of(host);
  EXPECT_EQ(name.wire().size(), Name::kMaxWire);
}

TEST(Name, RootIsNoHostName) {
  Query query = accepted(Message().header(1, 0, 1).name("").u16(2).u16(1).text);
  EXPECT_TRUE(query.question.name.is_root());
  EXPECT_FALSE(query.question.name.host_name());
  EXPECT_EQ(query.question.name.escaped(), ".");
}

TEST(Name, HostileBytesAreNoHostNameAndAreEscaped) {
  Query query = accepted(Message()
                             .header(1, 0, 1)
                             .raw("\x06"
                                  "\x1b[2J\\ ")
                             .raw("\x04test")
                             .u8(0)
                             .u16(1)
                             .u16(1)
                             .text);
  EXPECT_FALSE(query.question.name.host_name());
  EXPECT_EQ(query.question.name.escaped(), "\\x1b[2J\\\\ .test");
}

TEST(Name, FollowsPointersBackwardsOnly) {
  std::string message = header_of(0) + std::string(
                                           "\x04test\0\x07"
                                           "allowed\xc0\x0c\xc0\x12\xc0\x1c\xc0\x22",
                                           22);
  auto at = [&](std::size_t from) {
    std::size_t position = from;
    auto name = Name::read(testing::bytes(message), position);
    return name ? name->escaped() + "@" + std::to_string(position) : std::string("none");
  };
  EXPECT_EQ(at(12), "test@18");
  EXPECT_EQ(at(18), "allowed.test@28");
  EXPECT_EQ(at(28), "allowed.test@30");
  EXPECT_EQ(at(30), "allowed.test@32");  // a pointer to a pointer
  EXPECT_EQ(at(32), "none");             // forwards
  EXPECT_EQ(at(34), "none");
}

TEST(Name, IsNotReadOutOfTheHeader) {
  std::string message = header_of(0) + std::string("\x04test\0\x03uq2\xc0\x0b\x03uq2\xc0\x0c", 18);
  std::size_t into_header = 18, to_a_name = 24;
  EXPECT_FALSE(Name::read(testing::bytes(message), into_header)) << "a zero byte of the header is no root";
  auto name = Name::read(testing::bytes(message), to_a_name);
  ASSERT_TRUE(name);
  EXPECT_EQ(name->escaped(), "uq2.test");
}

}  // namespace
}  // namespace sallyport::dns
