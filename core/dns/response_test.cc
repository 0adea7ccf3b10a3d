#include "core/dns/response.h"

#include <gtest/gtest.h>
#include <ldns/ldns.h>

#include <memory>
#include <vector>

#include "core/dns/test_message.h"

namespace sallyport::dns {
namespace {

using testing::Message;

struct PacketFree {
  void operator()(ldns_pkt* packet) const { ldns_pkt_free(packet); }
};
using Packet = std::unique_ptr<ldns_pkt, PacketFree>;

Packet read_by_ldns(std::span<const std::uint8_t> wire) {
  ldns_pkt* packet = nullptr;
  EXPECT_EQ(ldns_wire2pkt(&packet, wire.data(), wire.size()), LDNS_STATUS_OK);
  return Packet(packet);
}

std::string text_of(const ldns_rdf* rdf) {
  std::unique_ptr<char, decltype(&free)> text(ldns_rdf2str(rdf), &free);
  return text.get();
}

Query question(std::string_view name, Type type, int udp_size = 0) {
  Message message;
  message.header(0xbeef, 0x0110, 1, 0, 0, udp_size != 0 ? 1 : 0)
      .name(name)
      .u16(static_cast<std::uint16_t>(type))
      .u16(1);
  if (udp_size != 0) message.opt(static_cast<std::uint16_t>(udp_size), 0x8000, "");
  return std::get<Query>(parse_query(testing::bytes(message.text)));
}

struct Written {
  std::vector<std::uint8_t> wire;
  Packet packet;
};
Written written(const Query& query, const Response& response, Transport transport = Transport::kUdp,
                std::size_t room = kResponseBuffer) {
  std::vector<std::uint8_t> out(room);
  out.resize(write_response(query, response, transport, out));
  auto packet = read_by_ldns(out);
  return {std::move(out), std::move(packet)};
}

std::vector<IpAddress> many_v4(int count) {
  std::vector<IpAddress> out;
  for (int i = 0; i < count; ++i)
    out.push_back(IpAddress::v4({198, 18, static_cast<std::uint8_t>(i / 256), static_cast<std::uint8_t>(i % 256)}));
  return out;
}

TEST(WriteResponse, AnswersWithAddressesAsLdnsReadsThem) {
  std::vector<IpAddress> both = {IpAddress::parse("198.18.0.20").value(), IpAddress::parse("fd53:7079::14").value()};
  auto [wire, packet] =
      written(question("aLLowed.TEST", Type::kA, 1232), {.rcode = Rcode::kNoError, .ttl = 30, .addresses = both});
  ASSERT_TRUE(packet);
  EXPECT_EQ(ldns_pkt_id(packet.get()), 0xbeef);
  EXPECT_TRUE(ldns_pkt_qr(packet.get()));
  EXPECT_TRUE(ldns_pkt_rd(packet.get()));
  EXPECT_TRUE(ldns_pkt_ra(packet.get()));
  EXPECT_TRUE(ldns_pkt_cd(packet.get()));
  EXPECT_FALSE(ldns_pkt_aa(packet.get()));
  EXPECT_FALSE(ldns_pkt_ad(packet.get()));
  EXPECT_EQ(ldns_pkt_get_rcode(packet.get()), LDNS_RCODE_NOERROR);
  ASSERT_EQ(ldns_pkt_ancount(packet.get()), 2);
  const ldns_rr* first = ldns_rr_list_rr(ldns_pkt_answer(packet.get()), 0);
  const ldns_rr* second = ldns_rr_list_rr(ldns_pkt_answer(packet.get()), 1);
  EXPECT_EQ(ldns_rr_get_type(first), LDNS_RR_TYPE_A);
  EXPECT_EQ(ldns_rr_ttl(first), 30u);
  EXPECT_EQ(text_of(ldns_rr_owner(first)), "aLLowed.TEST.");
  EXPECT_EQ(text_of(ldns_rr_rdf(first, 0)), "198.18.0.20");
  EXPECT_EQ(ldns_rr_get_type(second), LDNS_RR_TYPE_AAAA);
  EXPECT_EQ(text_of(ldns_rr_rdf(second, 0)), "fd53:7079::14");
  EXPECT_TRUE(ldns_pkt_edns(packet.get()));
  EXPECT_EQ(ldns_pkt_edns_udp_size(packet.get()), kUdpPayload);
  EXPECT_TRUE(ldns_pkt_edns_do(packet.get()));
}

TEST(WriteResponse, EchoesTheQuestionByteForByte) {
  Query query = question("MiXeD.cAsE.test", Type::kHttps);
  auto [wire, packet] = written(query, {.rcode = Rcode::kNoError});
  auto name = query.question.name.wire();
  ASSERT_EQ(wire.size(), kHeaderSize + name.size() + 4);
  EXPECT_TRUE(std::equal(name.begin(), name.end(), wire.begin() + kHeaderSize));
  EXPECT_FALSE(ldns_pkt_edns(packet.get()));
}

TEST(WriteResponse, NamesThePolicyInAnExtendedError) {
  auto [wire, packet] =
      written(question("denied.test", Type::kA, 1232),
              {.rcode = Rcode::kNxDomain,
               .ttl = 30,
               .negative_soa = true,
               .extended_error = ExtendedError{ExtendedCode::kBlocked, "no rule allows denied.test"}});
  EXPECT_EQ(ldns_pkt_get_rcode(packet.get()), LDNS_RCODE_NXDOMAIN);
  ASSERT_EQ(ldns_pkt_nscount(packet.get()), 1);
  const ldns_rr* soa = ldns_rr_list_rr(ldns_pkt_authority(packet.get()), 0);
  EXPECT_EQ(ldns_rr_get_type(soa), LDNS_RR_TYPE_SOA);
  EXPECT_EQ(text_of(ldns_rr_owner(soa)), ".");
  EXPECT_EQ(text_of(ldns_rr_rdf(soa, 0)), "sallyport.internal.");
  EXPECT_EQ(text_of(ldns_rr_rdf(soa, 6)), "30");
  const ldns_rdf* options = ldns_pkt_edns_data(packet.get());
  ASSERT_NE(options, nullptr);
  std::string data(reinterpret_cast<const char*>(ldns_rdf_data(options)), ldns_rdf_size(options));
  EXPECT_EQ(data, std::string("\0\x0f\0\x1c\0\x0f", 6) + "no rule allows denied.test");
}

TEST(WriteResponse, SaysNothingExtraToAClientWithoutEdns) {
  auto [wire, packet] =
      written(question("denied.test", Type::kA),
              {.rcode = Rcode::kNxDomain, .extended_error = ExtendedError{ExtendedCode::kBlocked, "text"}});
  EXPECT_EQ(ldns_pkt_arcount(packet.get()), 0);
  EXPECT_FALSE(ldns_pkt_edns(packet.get()));
}

TEST(WriteResponse, CutsLongTextBetweenCharacters) {
  std::string text(ExtendedError::kMaxText - 1, 'a');
  text += "\xc3\xa9\xc3\xa9";
  auto [wire, packet] =
      written(question("denied.test", Type::kA, 1232),
              {.rcode = Rcode::kNxDomain, .extended_error = ExtendedError{ExtendedCode::kBlocked, text}});
  EXPECT_EQ(ldns_rdf_size(ldns_pkt_edns_data(packet.get())), 6 + ExtendedError::kMaxText - 1);
}

TEST(WriteResponse, TruncatesToWhatTheClientTakes) {
  auto addresses = many_v4(40);  // 640 bytes of records
  Response response{.rcode = Rcode::kNoError, .ttl = 30, .addresses = addresses};
  auto small = written(question("allowed.test", Type::kA), response);
  EXPECT_TRUE(ldns_pkt_tc(small.packet.get()));
  EXPECT_EQ(ldns_pkt_ancount(small.packet.get()), 0);
  EXPECT_LE(small.wire.size(), 512u);

  auto large = written(question("allowed.test", Type::kA, 1232), response);
  EXPECT_FALSE(ldns_pkt_tc(large.packet.get()));
  EXPECT_EQ(ldns_pkt_ancount(large.packet.get()), 40);

  auto over_tcp = written(question("allowed.test", Type::kA), response, Transport::kTcp);
  EXPECT_EQ(ldns_pkt_ancount(over_tcp.packet.get()), 40);
}

TEST(WriteResponse, NeverExceedsOurOwnUdpSize) {
  auto addresses = many_v4(200);
  auto reply = written(question("allowed.test", Type::kA, 65535), {.rcode = Rcode::kNoError, .addresses = addresses},
                       Transport::kUdp, 65535);
  EXPECT_TRUE(ldns_pkt_tc(reply.packet.get()));
  EXPECT_LE(reply.wire.size(), kUdpPayload);
}

TEST(WriteResponse, DropsTheTextBeforeTheRecords) {
  auto addresses = many_v4(20);  // 320 bytes; with question and text more than 512
  auto reply = written(question("allowed.test", Type::kA, 512),
                       {.rcode = Rcode::kNoError,
                        .addresses = addresses,
                        .extended_error = ExtendedError{ExtendedCode::kOther, std::string(180, 't')}});
  EXPECT_FALSE(ldns_pkt_tc(reply.packet.get()));
  EXPECT_EQ(ldns_pkt_ancount(reply.packet.get()), 20);
  EXPECT_EQ(ldns_rdf_size(ldns_pkt_edns_data(reply.packet.get())), 6u);
}

TEST(WriteResponse, LongestQuestionFitsTheSmallestReply) {
  std::string label(63, 'a'), longest = label + "." + label + "." + label + "." + std::string(61, 'b');
  auto reply = written(question(longest, Type::kA, 512),
                       {.rcode = Rcode::kNxDomain,
                        .negative_soa = true,
                        .extended_error = ExtendedError{ExtendedCode::kBlocked, std::string(300, 't')}});
  EXPECT_EQ(ldns_pkt_get_rcode(reply.packet.get()), LDNS_RCODE_NXDOMAIN);
  EXPECT_FALSE(ldns_pkt_tc(reply.packet.get()));
}

TEST(WriteResponse, AnswersReverseQuestions) {
  Name target = Name::of(HostName::parse("sallyport.internal").value());
  auto [wire, packet] = written(question("2.0.18.198.in-addr.arpa", Type::kPtr),
                                {.rcode = Rcode::kNoError, .ttl = 30, .pointer = &target});
  const ldns_rr* record = ldns_rr_list_rr(ldns_pkt_answer(packet.get()), 0);
  EXPECT_EQ(ldns_rr_get_type(record), LDNS_RR_TYPE_PTR);
  EXPECT_EQ(text_of(ldns_rr_rdf(record, 0)), "sallyport.internal.");
}

TEST(WriteResponse, DeniesABufferThatCannotHoldAReply) {
  std::vector<std::uint8_t> out(511);
  EXPECT_EQ(write_response(question("a.test", Type::kA), {}, Transport::kUdp, out), 0u);
}

TEST(WriteMalformed, RepliesWithAHeaderOnly) {
  std::vector<std::uint8_t> out(kResponseBuffer);
  auto reply = [&](std::uint16_t flags, std::uint32_t opt_ttl) {
    auto message =
        Message().header(0x4242, flags, 1, 0, 0, 1).name("secret.test").u16(1).u16(1).opt(1232, opt_ttl, "").text;
    auto malformed = std::get<MalformedQuery>(parse_query(testing::bytes(message)));
    return read_by_ldns({out.data(), write_malformed(malformed, out)});
  };
  auto update = reply(5 << 11, 0);
  EXPECT_EQ(ldns_pkt_get_rcode(update.get()), LDNS_RCODE_NOTIMPL);
  EXPECT_EQ(ldns_pkt_get_opcode(update.get()), LDNS_PACKET_UPDATE);
  EXPECT_EQ(ldns_pkt_id(update.get()), 0x4242);
  EXPECT_EQ(ldns_pkt_qdcount(update.get()), 0);
  EXPECT_EQ(ldns_pkt_get_rcode(reply(0x0200, 0).get()), LDNS_RCODE_FORMERR);
  auto version = reply(0, 0x00070000);
  EXPECT_TRUE(ldns_pkt_edns(version.get()));
  EXPECT_EQ(ldns_pkt_edns_extended_rcode(version.get()), 1);  // BADVERS is 16
  EXPECT_EQ(ldns_pkt_get_rcode(version.get()), LDNS_RCODE_NOERROR);
  EXPECT_EQ(write_malformed(MalformedQuery{}, out), 0u);
}

// Questions that ldns writes are read as it meant them.
TEST(ParseQuery, ReadsWhatLdnsWrites) {
  struct {
    const char* name;
    ldns_rr_type type;
    std::uint16_t flags;
    int udp_size;
  } cases[] = {
      {"allowed.test.", LDNS_RR_TYPE_A, LDNS_RD, 0},
      {"WWW.Allowed.Test.", LDNS_RR_TYPE_AAAA, LDNS_RD | LDNS_CD, 4096},
      {"_dmarc.x.test.", LDNS_RR_TYPE_TXT, 0, 512},
      {".", LDNS_RR_TYPE_NS, LDNS_RD, 1232},
      {"a.b.c.d.e.f.g.h.test.", LDNS_RR_TYPE_HTTPS, LDNS_RD, 1232},
  };
  for (const auto& c : cases) {
    Packet packet(ldns_pkt_query_new(ldns_dname_new_frm_str(c.name), c.type, LDNS_RR_CLASS_IN, c.flags));
    ldns_pkt_set_id(packet.get(), 4711);
    if (c.udp_size != 0) {
      ldns_pkt_set_edns_udp_size(packet.get(), static_cast<std::uint16_t>(c.udp_size));
      ldns_pkt_set_edns_do(packet.get(), true);
    }
    std::uint8_t* wire = nullptr;
    std::size_t size = 0;
    ASSERT_EQ(ldns_pkt2wire(&wire, packet.get(), &size), LDNS_STATUS_OK);
    std::unique_ptr<std::uint8_t, decltype(&free)> owner(wire, &free);
    auto parsed = parse_query({wire, size});
    ASSERT_TRUE(std::holds_alternative<Query>(parsed)) << c.name << ": " << std::get<MalformedQuery>(parsed).why;
    const Query& query = std::get<Query>(parsed);
    EXPECT_EQ(query.id, 4711);
    EXPECT_EQ(static_cast<int>(query.question.type), static_cast<int>(c.type));
    EXPECT_EQ(query.recursion_desired, (c.flags & LDNS_RD) != 0);
    EXPECT_EQ(query.has_edns, c.udp_size != 0);
    EXPECT_EQ(query.dnssec_ok, c.udp_size != 0);
    std::string text = query.question.name.is_root() ? "." : query.question.name.escaped() + ".";
    EXPECT_EQ(text, c.name);
  }
}

}  // namespace
}  // namespace sallyport::dns
