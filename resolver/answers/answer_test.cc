#include "resolver/answers/answer.h"

#include <gtest/gtest.h>
#include <ldns/ldns.h>

#include <memory>
#include <vector>

#include "core/dns/test_message.h"
#include "resolver/answers/special_names.h"

namespace sallyport::resolver {
namespace {

using dns::testing::Message;
using Verdict = AnswerRecord::Verdict;
using Kind = SyntheticPool::Meaning::Kind;

struct PacketFree {
  void operator()(ldns_pkt* packet) const { ldns_pkt_free(packet); }
};

HostName host(std::string_view text) { return HostName::parse(text).value(); }

// A task whose policy allows allowed.test and everything below wild.test; a client that speaks through ldns.
class Answers : public ::testing::Test {
 protected:
  struct Reply {
    AnswerRecord record;
    std::unique_ptr<ldns_pkt, PacketFree> packet;  // none if nothing was sent
    std::vector<std::uint8_t> wire;

    ldns_pkt_rcode rcode() const { return ldns_pkt_get_rcode(packet.get()); }
    std::vector<std::string> answers() const {
      std::vector<std::string> out;
      const ldns_rr_list* list = ldns_pkt_answer(packet.get());
      for (std::size_t i = 0; i < ldns_rr_list_rr_count(list); ++i) {
        std::unique_ptr<char, decltype(&free)> text(ldns_rdf2str(ldns_rr_rdf(ldns_rr_list_rr(list, i), 0)), &free);
        out.emplace_back(text.get());
      }
      return out;
    }
    // The RFC 8914 code and text; -1 without.
    std::pair<int, std::string> extended_error() const {
      const ldns_rdf* options = ldns_pkt_edns_data(packet.get());
      if (options == nullptr || ldns_rdf_size(options) < 6) return {-1, ""};
      const std::uint8_t* data = ldns_rdf_data(options);
      return {data[4] << 8 | data[5], std::string(reinterpret_cast<const char*>(data) + 6, ldns_rdf_size(options) - 6)};
    }
  };

  Reply ask_bytes(std::span<const std::uint8_t> message, dns::Transport transport = dns::Transport::kUdp) {
    std::vector<std::uint8_t> out(dns::kResponseBuffer);
    Answered answered =
        answer_message(message, transport, [this](const HostName& name, dns::Type) { return decide(name); }, pool_, out);
    Reply reply{
        std::move(answered.record), nullptr, {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(answered.size)}};
    ldns_pkt* packet = nullptr;
    if (answered.size != 0) {
      EXPECT_EQ(ldns_wire2pkt(&packet, out.data(), answered.size), LDNS_STATUS_OK);
    }
    reply.packet.reset(packet);
    return reply;
  }

  Reply ask(const std::string& name, int type = 1, dns::Transport transport = dns::Transport::kUdp, int klass = 1) {
    std::unique_ptr<ldns_pkt, PacketFree> packet(ldns_pkt_query_new(ldns_dname_new_frm_str(name.c_str()),
                                                                    static_cast<ldns_rr_type>(type),
                                                                    static_cast<ldns_rr_class>(klass), LDNS_RD));
    ldns_pkt_set_edns_udp_size(packet.get(), 1232);
    std::uint8_t* wire = nullptr;
    std::size_t size = 0;
    EXPECT_EQ(ldns_pkt2wire(&wire, packet.get(), &size), LDNS_STATUS_OK);
    std::unique_ptr<std::uint8_t, decltype(&free)> owner(wire, &free);
    return ask_bytes({wire, size}, transport);
  }

  NameDecision decide(const HostName& name) {
    asked_.push_back(name);
    if (next_) return *next_;
    bool allowed = allow_all_ || name == host("allowed.test") || name.is_below(host("wild.test"));
    if (name == host("denied.test")) allowed = false;
    return {allowed ? policy::ReasonCode::kAllowed : policy::ReasonCode::kNoRule, ""};
  }

  SyntheticPool pool_ =
      SyntheticPool::make(IpPrefix::parse("198.18.16.0/20").value(), IpPrefix::parse("fd53:7079:0:1::/64").value(), 50)
          .value();
  std::vector<HostName> asked_;
  bool allow_all_ = false;
  std::optional<NameDecision> next_;  // instead of the policy above
};

// denied: explain
TEST_F(Answers, ADeniedNameThatIsExplainedHasAnAddressAndTheReason) {
  next_ = NameDecision{.reason = policy::ReasonCode::kNoRule, .explain = true};
  auto v4 = ask("denied.test"), v6 = ask("Denied.test", 28), txt = ask("denied.test", 16), https = ask("denied.test", 65);
  EXPECT_EQ(v4.answers(), std::vector<std::string>{"198.18.16.16"});
  EXPECT_EQ(v6.answers(), std::vector<std::string>{"fd53:7079:0:1::10"});
  for (const auto* reply : {&v4, &v6, &txt, &https}) {
    EXPECT_EQ(reply->rcode(), LDNS_RCODE_NOERROR) << "one name, one existence";
    EXPECT_EQ(reply->record.verdict, Verdict::kDenied);
    EXPECT_EQ(reply->record.reason, policy::ReasonCode::kNoRule);
    EXPECT_NE(reply->extended_error().second.find("no_rule"), std::string::npos);
  }
  EXPECT_EQ(v4.extended_error().first, 4) << "a forged answer (RFC 8914 section 4.5)";
  EXPECT_TRUE(txt.answers().empty() && https.answers().empty());
  EXPECT_EQ(*pool_.lookup(IpAddress::parse("198.18.16.16").value()).name, host("denied.test"));
}

TEST_F(Answers, ExplainedNamesLeaveThePoolToTheAllowed) {
  next_ = NameDecision{.reason = policy::ReasonCode::kNoRule, .explain = true};
  for (int i = 0; i < 12; ++i) EXPECT_EQ(ask("n" + std::to_string(i) + ".test").answers().size(), 1u);
  auto past = ask("one-more.test");
  EXPECT_EQ(past.rcode(), LDNS_RCODE_NXDOMAIN);
  EXPECT_EQ(past.extended_error().first, 15);
  EXPECT_EQ(ask("n3.test").answers().size(), 1u) << "known ones stay";
  next_.reset();
  EXPECT_EQ(ask("allowed.test").record.verdict, Verdict::kAnswered);
}

TEST_F(Answers, UsedUpBudgetsAreRefused) {  // dns-003
  next_ = NameDecision{.reason = policy::ReasonCode::kBudgetNames};
  auto names = ask("x.wild.test");
  EXPECT_EQ(names.rcode(), LDNS_RCODE_REFUSED);
  EXPECT_EQ(names.extended_error(), std::make_pair(18, std::string("budget_names: The allowed number of distinct names is used up")));
  EXPECT_EQ(names.record.verdict, Verdict::kOverBudget);
  EXPECT_EQ(pool_.size(), 0u);
}

TEST_F(Answers, ATypeThatNoRuleGrantsIsEmptyAndSaysSo) {  // dns-004
  next_ = NameDecision{.reason = policy::ReasonCode::kRecordTypeNotAllowed};
  auto txt = ask("allowed.test", 16);
  EXPECT_EQ(txt.rcode(), LDNS_RCODE_NOERROR);
  EXPECT_TRUE(txt.answers().empty());
  EXPECT_EQ(txt.record.verdict, Verdict::kDenied);
  EXPECT_EQ(txt.extended_error().first, 17);
  auto https = ask("allowed.test", 65);
  EXPECT_EQ(https.record.verdict, Verdict::kEmpty) << "browsers ask with every name";
  EXPECT_EQ(https.extended_error().first, -1);
}

// A lookup of the caller's, from question to answer.
TEST_F(Answers, WhatIsLookedUpIsAnsweredForTheVeryQuestion) {
  next_ = NameDecision{.reason = policy::ReasonCode::kAllowed, .look_up = true};
  Message question;
  question.header(0x77, 0x0100, 1).name("ReaL.test").u16(28).u16(1);
  std::vector<std::uint8_t> out(dns::kTcpResponseBuffer);
  auto asked = answer_message(dns::testing::bytes(question.text), dns::Transport::kUdp,
                              [this](const HostName& name, dns::Type) { return decide(name); }, pool_, out);
  ASSERT_TRUE(asked.pending);
  EXPECT_EQ(asked.size, 0u);
  EXPECT_EQ(asked.pending->name, host("real.test"));
  EXPECT_TRUE(asked.pending->wants_addresses());
  EXPECT_EQ(pool_.size(), 0u);

  auto answer = [&](const LookedUp& found) {
    auto late = answer_looked_up(*asked.pending, found, dns::Transport::kUdp, out);
    Reply reply{late.record, nullptr, {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(late.size)}};
    ldns_pkt* packet = nullptr;
    EXPECT_EQ(ldns_wire2pkt(&packet, out.data(), late.size), LDNS_STATUS_OK);
    reply.packet.reset(packet);
    return reply;
  };
  auto v6 = IpAddress::parse("2001:db8::7").value(), v4 = IpAddress::parse("192.0.2.7").value();
  auto found = answer({.reason = policy::ReasonCode::kAllowed, .addresses = {v6, v4}, .records = {{1, 2}}, .ttl = 17});
  EXPECT_EQ(found.answers(), std::vector<std::string>{"2001:db8::7"}) << "of the asked family only";
  EXPECT_EQ(ldns_rr_ttl(ldns_rr_list_rr(ldns_pkt_answer(found.packet.get()), 0)), 17u);
  EXPECT_EQ(found.wire[13], 'R') << "the case of the question";
  EXPECT_EQ(found.record.verdict, Verdict::kAnswered);
  EXPECT_EQ(*found.record.name, host("real.test"));

  auto other = answer({.reason = policy::ReasonCode::kAllowed, .addresses = {v4}, .ttl = 17});
  EXPECT_EQ(other.record.verdict, Verdict::kEmpty);
  EXPECT_EQ(ldns_pkt_nscount(other.packet.get()), 1);
  auto missing = answer({.reason = policy::ReasonCode::kNameNotFound, .ttl = 3});
  EXPECT_EQ(missing.rcode(), LDNS_RCODE_NXDOMAIN);
  EXPECT_EQ(missing.record.verdict, Verdict::kNoSuchName);
  auto refused = answer({.reason = policy::ReasonCode::kAddressRefused, .text = "its class is private"});
  EXPECT_EQ(refused.rcode(), LDNS_RCODE_SERVFAIL);
  EXPECT_EQ(refused.record.verdict, Verdict::kDenied);
  EXPECT_TRUE(refused.answers().empty());
  auto failed = answer({.reason = policy::ReasonCode::kResolutionFailed});
  EXPECT_EQ(failed.rcode(), LDNS_RCODE_SERVFAIL);
  EXPECT_EQ(failed.record.verdict, Verdict::kFailed);
}

TEST_F(Answers, AllowedNameHasAPairOfSyntheticAddresses) {
  auto v4 = ask("allowed.test"), v6 = ask("Allowed.TEST.", 28);
  EXPECT_EQ(v4.rcode(), LDNS_RCODE_NOERROR);
  EXPECT_EQ(v4.answers(), std::vector<std::string>{"198.18.16.16"});
  EXPECT_EQ(v6.answers(), std::vector<std::string>{"fd53:7079:0:1::10"});
  EXPECT_EQ(v4.record.verdict, Verdict::kAnswered);
  EXPECT_TRUE(v4.record.new_name);
  EXPECT_FALSE(v6.record.new_name);
  EXPECT_EQ(*v6.record.name, host("allowed.test"));
  auto meaning = pool_.lookup(IpAddress::parse("fd53:7079:0:1::10").value());
  ASSERT_EQ(meaning.kind, Kind::kName);
  EXPECT_EQ(*meaning.name, host("allowed.test"));
}

// dns-001, dns-014
TEST_F(Answers, DeniedNameIsAnsweredHereWithTheReason) {
  for (auto name : {"4e6f7753656372657421.x.denied.test", "allowed.test.corp.test", "wild.test", "test"}) {
    auto reply = ask(name);
    EXPECT_EQ(reply.rcode(), LDNS_RCODE_NXDOMAIN) << name;
    EXPECT_TRUE(reply.answers().empty());
    EXPECT_EQ(reply.extended_error(),
              std::make_pair(15, std::string("no_rule: No rule of the policy mentions this host")));
    EXPECT_EQ(reply.record.verdict, Verdict::kDenied);
    EXPECT_EQ(reply.record.reason, policy::ReasonCode::kNoRule);
    EXPECT_EQ(reply.record.asked->escaped(), name);
  }
  EXPECT_EQ(pool_.size(), 0u);
  EXPECT_EQ(ask("a.b.wild.test").record.verdict, Verdict::kAnswered);
}

// dns-003
TEST_F(Answers, BudgetOfDistinctNamesEnds) {
  auto name = [](int i) { return "0123456789abcdef0123456789ab" + std::to_string(1000 + i) + ".wild.test"; };
  int answered = 0, over = 0;
  for (int i = 0; i < 200; ++i) {
    auto reply = ask(name(i));
    answered += reply.record.verdict == Verdict::kAnswered ? 1 : 0;
    if (reply.record.verdict == Verdict::kOverBudget) {
      ++over;
      EXPECT_EQ(reply.rcode(), LDNS_RCODE_REFUSED);
      EXPECT_EQ(reply.record.reason, policy::ReasonCode::kOverloaded);
    }
  }
  EXPECT_EQ(answered, 50);
  EXPECT_EQ(over, 150);
  EXPECT_EQ(ask(name(3)).answers(), std::vector<std::string>{"198.18.16.19"});
  EXPECT_EQ(ask("sallyport.internal").record.verdict, Verdict::kAnswered);
}

// dns-004, dns-010, dns-020
TEST_F(Answers, OtherTypesGetNothing) {
  for (int type : {2, 5, 6, 10, 12, 15, 16, 33, 64, 65, 65399}) {
    auto reply = ask("allowed.test", type);
    EXPECT_EQ(reply.rcode(), LDNS_RCODE_NOERROR) << type;
    EXPECT_TRUE(reply.answers().empty());
    EXPECT_EQ(ldns_pkt_nscount(reply.packet.get()), 1);
    EXPECT_EQ(reply.record.verdict, Verdict::kEmpty);
    EXPECT_EQ(ask("denied.test", type).rcode(), LDNS_RCODE_NXDOMAIN) << type;
  }
  for (int type : {249, 250, 251, 252, 253, 254, 255, 41}) {
    EXPECT_EQ(ask("allowed.test", type).rcode(), LDNS_RCODE_REFUSED) << type;
    EXPECT_EQ(ask("denied.test", type).record.verdict, Verdict::kUnsupported) << type;
  }
  EXPECT_EQ(pool_.size(), 0u);
}

TEST_F(Answers, OtherClassesAreRefused) {
  for (int klass : {3, 4, 254, 255})
    EXPECT_EQ(ask("allowed.test", 1, dns::Transport::kUdp, klass).rcode(), LDNS_RCODE_REFUSED) << klass;
}

// dns-006
TEST_F(Answers, TcpGetsTheSameDecision) {
  for (auto name : {"denied.test", "allowed.test"}) {
    auto udp = ask(name), tcp = ask(name, 1, dns::Transport::kTcp);
    EXPECT_EQ(udp.record.verdict, tcp.record.verdict);
    EXPECT_EQ(udp.rcode(), tcp.rcode());
    EXPECT_EQ(udp.answers(), tcp.answers());
  }
}

// dns-015
TEST_F(Answers, ComparesTheCanonicalName) {
  allow_all_ = true;
  for (auto name : {"DeNiEd.TeSt.", "denied.test"}) EXPECT_EQ(ask(name).rcode(), LDNS_RCODE_NXDOMAIN) << name;
  EXPECT_EQ(ask("denied.test.other").record.verdict, Verdict::kAnswered);
}

// dns-016, dns-017
TEST_F(Answers, AmbiguousLabelsNeverReachThePolicy) {
  allow_all_ = true;
  std::string header("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12), tail("\0\1\0\1", 4);
  for (const std::string& name : {std::string("\x13"
                                              "denied.allowed.test\0",
                                              21),
                                  std::string("\x0b"
                                              "denied.\0xyz\x07"
                                              "allowed\x04test\0",
                                              26)}) {
    std::string message = header + name + tail;
    auto reply = ask_bytes({reinterpret_cast<const std::uint8_t*>(message.data()), message.size()});
    EXPECT_EQ(reply.rcode(), LDNS_RCODE_FORMERR);
    EXPECT_EQ(reply.record.verdict, Verdict::kMalformed);
    EXPECT_EQ(reply.record.asked->escaped().substr(0, 9), "denied\\x2");
  }
  EXPECT_TRUE(asked_.empty());
}

TEST_F(Answers, NamesThatAreNoHostNamesAreDeniedUnasked) {
  allow_all_ = true;
  for (auto name : {"a b.test", "-x.test", "x-.test", "\\200.test", "test.1", "1.2.3.4", "*.test", "."}) {
    auto reply = ask(name);
    EXPECT_EQ(reply.rcode(), LDNS_RCODE_NXDOMAIN) << name;
    EXPECT_FALSE(reply.record.name);
  }
  EXPECT_TRUE(asked_.empty());
}

// dns-018, dns-019, dns-020, dns-021
TEST_F(Answers, MalformedMessagesAreAnsweredWithoutTheirBytes) {
  allow_all_ = true;
  auto send = [&](std::string message) {
    return ask_bytes({reinterpret_cast<const std::uint8_t*>(message.data()), message.size()});
  };
  std::string one("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12);
  auto loop = send(one + std::string("\xc0\x0c\0\1\0\1", 6));
  EXPECT_EQ(loop.rcode(), LDNS_RCODE_FORMERR);
  EXPECT_EQ(loop.wire.size(), dns::kHeaderSize);
  std::string two = one;
  two[5] = 2;
  EXPECT_EQ(send(two + std::string("\7allowed\4test\0\0\1\0\1\6denied\4test\0\0\1\0\1", 36)).rcode(),
            LDNS_RCODE_FORMERR);
  auto trailing = send(one + std::string("\7allowed\4test\0\0\1\0\1", 18) + std::string(1000, 'S'));
  EXPECT_EQ(trailing.rcode(), LDNS_RCODE_FORMERR);
  EXPECT_EQ(trailing.wire.size(), dns::kHeaderSize);
  std::string update = one;
  update[2] = 5 << 3;
  auto refused = send(update + std::string("\7allowed\4test\0\0\6\0\1", 18));
  EXPECT_EQ(refused.rcode(), LDNS_RCODE_NOTIMPL);
  EXPECT_EQ(refused.record.verdict, Verdict::kUnsupported);
  std::string response = one;
  response[2] = '\x81';
  EXPECT_TRUE(send(response + std::string("\7allowed\4test\0\0\1\0\1", 18)).wire.empty());
  EXPECT_TRUE(asked_.empty());
}

// dns-005: what the client puts into EDNS comes back from nowhere.
TEST_F(Answers, EdnsOptionsAreForgotten) {
  std::string message("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\7allowed\4test\0\0\1\0\1", 30);
  message += std::string("\0\0\x29\x10\0\0\0\0\0\0\x0c\xfd\xe9\0\x08MARKMARK", 23);
  auto reply = ask_bytes({reinterpret_cast<const std::uint8_t*>(message.data()), message.size()});
  EXPECT_EQ(reply.record.verdict, Verdict::kAnswered);
  EXPECT_EQ(std::string(reply.wire.begin(), reply.wire.end()).find("MARK"), std::string::npos);
}

// dns-022
TEST_F(Answers, SpecialNamesAreLocalWhateverThePolicyAllows) {
  allow_all_ = true;
  for (auto name : {"localhost", "x.localhost"}) {
    EXPECT_EQ(ask(name).answers(), std::vector<std::string>{"127.0.0.1"});
    EXPECT_EQ(ask(name, 28).answers(), std::vector<std::string>{"::1"});
    EXPECT_EQ(ask(name, 65).record.verdict, Verdict::kEmpty);
  }
  for (auto name : {"foo.invalid", "printer.local", "x.onion", "x.alt", "local", "1.0.0.127.in-addr.arpa",
                    "ipv4only.arpa", "_dns.resolver.arpa", "x.sallyport.internal"}) {
    auto reply = ask(name);
    EXPECT_EQ(reply.rcode(), LDNS_RCODE_NXDOMAIN) << name;
    EXPECT_EQ(reply.record.verdict, Verdict::kNoSuchName) << name;
  }
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(pool_.size(), 0u);
  // Controls: neighbours that are not special.
  for (auto name : {"x.test", "mylocalhost", "notlocal", "home.arpa"})
    EXPECT_EQ(ask(name).record.verdict, Verdict::kAnswered) << name;
}

// dns-027
TEST_F(Answers, TellsBrowsersToKeepToThisResolver) {
  allow_all_ = true;
  for (int type : {1, 28}) EXPECT_EQ(ask("use-application-dns.net", type).rcode(), LDNS_RCODE_NXDOMAIN);
}

TEST_F(Answers, FloorNamesAreDeniedWhateverThePolicyAllows) {
  allow_all_ = true;
  for (auto name : {"metadata.google.internal", "METADATA.google.internal.", "x.metadata.google.internal", "metadata",
                    "instance-data"}) {
    auto reply = ask(name);
    EXPECT_EQ(reply.rcode(), LDNS_RCODE_NXDOMAIN) << name;
    EXPECT_EQ(reply.record.verdict, Verdict::kDenied);
    EXPECT_EQ(reply.record.reason, policy::ReasonCode::kFloor);
    EXPECT_EQ(reply.extended_error().first, 15);
  }
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(ask("google.internal").record.verdict, Verdict::kAnswered);
}

TEST_F(Answers, OwnNameIsAlwaysThere) {
  EXPECT_EQ(ask("sallyport.internal").answers(), std::vector<std::string>{"198.18.16.2"});
  EXPECT_EQ(ask("Sallyport.Internal", 28).answers(), std::vector<std::string>{"fd53:7079:0:1::2"});
  EXPECT_EQ(ask("sallyport.internal", 65).record.verdict, Verdict::kEmpty);
  EXPECT_EQ(pool_.lookup(IpAddress::parse("198.18.16.2").value()).kind, Kind::kInternal);
}

TEST_F(Answers, ReverseNamesOfThePoolAreKnown) {
  ask("allowed.test");
  EXPECT_EQ(ask("16.16.18.198.in-addr.arpa", 12).answers(), std::vector<std::string>{"allowed.test."});
  EXPECT_EQ(ask("0.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.0.0.0.0.0.0.0.9.7.0.7.3.5.d.f.ip6.arpa", 12).answers(),
            std::vector<std::string>{"allowed.test."});
  EXPECT_EQ(ask("1.16.18.198.in-addr.arpa", 12).answers(), std::vector<std::string>{"sallyport.internal."});
  EXPECT_EQ(ask("16.16.18.198.in-addr.arpa", 16).record.verdict, Verdict::kEmpty);
  for (auto name :
       {"17.16.18.198.in-addr.arpa", "3.16.18.198.in-addr.arpa", "8.8.8.8.in-addr.arpa", "016.16.18.198.in-addr.arpa",
        "x.16.16.18.198.in-addr.arpa", "16.18.198.in-addr.arpa", "in-addr.arpa", "ip6.arpa"})
    EXPECT_EQ(ask(name, 12).rcode(), LDNS_RCODE_NXDOMAIN) << name;
}

TEST(SyntheticPool, GivesDistinctStablePairsUntilFull) {
  auto pool =
      SyntheticPool::make(IpPrefix::parse("198.18.0.0/27").value(), IpPrefix::parse("fd53:7079::/64").value()).value();
  EXPECT_EQ(pool.capacity(), 16u);
  for (int i = 0; i < 16; ++i) {
    auto name = host("n" + std::to_string(i) + ".test");
    auto pair = pool.assign(name).value();
    EXPECT_EQ(pair.v4.text(), "198.18.0." + std::to_string(16 + i));
    for (const auto& address : {pair.v4, pair.v6}) {
      ASSERT_EQ(pool.lookup(address).kind, Kind::kName);
      EXPECT_EQ(*pool.lookup(address).name, name);
    }
  }
  auto full = pool.assign(host("one-more.test"));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind, ErrorKind::kOverloaded);
  EXPECT_EQ(pool.assign(host("n7.test")).value().v4.text(), "198.18.0.23");
}

TEST(SyntheticPool, KnowsWhatIsNotAName) {
  auto pool =
      SyntheticPool::make(IpPrefix::parse("198.18.16.0/20").value(), IpPrefix::parse("fd53:7079::/64").value()).value();
  (void)pool.assign(host("a.test")).value();
  auto kind = [&](std::string_view text) { return pool.lookup(IpAddress::parse(text).value()).kind; };
  EXPECT_EQ(kind("198.18.16.16"), Kind::kName);
  EXPECT_EQ(kind("198.18.16.1"), Kind::kResolver);
  EXPECT_EQ(kind("fd53:7079::1"), Kind::kResolver);
  EXPECT_EQ(kind("fd53:7079::2"), Kind::kInternal);
  for (auto text : {"198.18.16.0", "198.18.16.3", "198.18.16.15", "198.18.16.17", "198.18.31.255", "fd53:7079::",
                    "fd53:7079::11", "fd53:7079::1:0:0:10", "fd53:7079::1:0:10", "fd53:7079:0:0:ffff::10"})
    EXPECT_EQ(kind(text), Kind::kUnassigned) << text;
  for (auto text : {"198.18.15.255", "198.18.32.0", "8.8.8.8", "fd53:7079:0:1::10", "::ffff:198.18.16.16", "::1"})
    EXPECT_EQ(kind(text), Kind::kForeign) << text;
}

TEST(SyntheticPool, DeniesOddRanges) {
  auto v4 = [](std::string_view text) { return IpPrefix::parse(text).value(); };
  EXPECT_TRUE(SyntheticPool::make(v4("198.18.0.0/16"), v4("fd53::/112")));
  EXPECT_FALSE(SyntheticPool::make(v4("198.18.0.0/15"), v4("fd53::/64")));
  EXPECT_FALSE(SyntheticPool::make(v4("198.18.0.0/28"), v4("fd53::/64")));
  EXPECT_FALSE(SyntheticPool::make(v4("198.18.0.0/20"), v4("fd53::/63")));
  EXPECT_FALSE(SyntheticPool::make(v4("198.18.0.0/20"), v4("fd53::/113")));
  EXPECT_FALSE(SyntheticPool::make(v4("fd53::/64"), v4("198.18.0.0/20")));
}

}  // namespace
}  // namespace sallyport::resolver
