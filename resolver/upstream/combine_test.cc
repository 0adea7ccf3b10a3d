#include "resolver/upstream/combine.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sallyport::resolver {
namespace {

using Status = Resolution::Status;
using Kind = dns::UpstreamAnswer::Kind;

FamilyAnswer addresses(std::vector<std::string> texts, std::uint32_t ttl = 30) {
  dns::UpstreamAnswer answer;
  answer.kind = texts.empty() ? Kind::kNoData : Kind::kFound;
  answer.rcode = dns::Rcode::kNoError;
  answer.ttl = ttl;
  for (const auto& text : texts) answer.addresses.push_back(IpAddress::parse(text).value());
  return FamilyAnswer(Result<dns::UpstreamAnswer>(std::move(answer)));
}
FamilyAnswer nothing(std::uint32_t ttl = 5) { return addresses({}, ttl); }
FamilyAnswer missing(std::uint32_t ttl = 5) {
  auto answer = nothing(ttl);
  answer->value().kind = Kind::kNxDomain;
  return answer;
}
FamilyAnswer server_failure() { return FamilyAnswer(Result<dns::UpstreamAnswer>(dns::UpstreamAnswer{})); }
FamilyAnswer failure(ErrorKind kind) { return FamilyAnswer(Result<dns::UpstreamAnswer>(fail(kind, "why"))); }
const FamilyAnswer kOutstanding;

Resolution judged(const FamilyAnswer& v4, const FamilyAnswer& v6) { return combine(v4, v6, net::AddressPolicy()); }
std::vector<std::string> texts(const Resolution& resolution) {
  std::vector<std::string> out;
  for (const auto& address : resolution.addresses) out.push_back(address.text());
  return out;
}

TEST(Combine, GivesBothFamiliesByTurns) {
  auto both = judged(addresses({"8.8.8.1", "8.8.8.2", "8.8.8.3"}), addresses({"2a00::1"}, 20));
  EXPECT_EQ(both.status, Status::kOk);
  EXPECT_EQ(texts(both), (std::vector<std::string>{"2a00::1", "8.8.8.1", "8.8.8.2", "8.8.8.3"}));
  EXPECT_EQ(both.ttl, 20u);
}

// dns-026
TEST(Combine, CapsTheAddressesOfBothFamilies) {
  std::vector<std::string> v4, v6;
  for (int i = 1; i <= 60; ++i) {
    v4.push_back("8.8.8." + std::to_string(i));
    v6.push_back("2a00::" + std::to_string(i));
  }
  EXPECT_EQ(judged(addresses(v4), nothing()).addresses.size(), kMaxAddresses);
  auto both = judged(addresses(v4), addresses(v6));
  EXPECT_EQ(both.addresses.size(), kMaxAddresses);
  EXPECT_EQ(std::ranges::count_if(both.addresses, [](const IpAddress& a) { return a.is_v4(); }), 8);
}

// dns-011, dns-012
TEST(Combine, OneRefusedAddressRefusesTheName) {
  std::vector<std::string> many(40, "8.8.8.8");
  many.push_back("127.0.0.1");
  for (const auto& refused :
       {judged(addresses({"8.8.8.8", "10.0.0.5"}), nothing()), judged(addresses({"8.8.8.8"}), addresses({"fd00::1"})),
        judged(addresses({"10.0.0.5"}), kOutstanding), judged(addresses(many), nothing()),
        judged(missing(), addresses({"::1"}))}) {
    EXPECT_EQ(refused.status, Status::kRefusedAddress);
    EXPECT_TRUE(refused.addresses.empty());
    EXPECT_FALSE(refused.detail.empty());
  }
  net::AddressPolicy open({.permit = {IpPrefix::parse("10.0.0.0/8").value()}, .own_addresses = {}, .own_sockets = {}});
  EXPECT_EQ(combine(addresses({"8.8.8.8", "10.0.0.5"}), nothing(), open).status, Status::kOk);
}

TEST(Combine, AMissingFamilyMakesTheResultGoodForOneUse) {
  for (const auto& other : {kOutstanding, failure(ErrorKind::kTimedOut), server_failure()}) {
    auto result = judged(addresses({"8.8.8.8"}, 300), other);
    EXPECT_EQ(result.status, Status::kOk);
    EXPECT_EQ(result.ttl, 0u);
  }
  EXPECT_EQ(judged(addresses({"8.8.8.8"}, 40), nothing(0)).ttl, 40u);
}

TEST(Combine, TellsFailuresApart) {
  EXPECT_EQ(judged(missing(), missing()).status, Status::kNxDomain);
  EXPECT_EQ(judged(nothing(), nothing()).status, Status::kNoData);
  EXPECT_EQ(judged(nothing(), server_failure()).status, Status::kServFail);
  EXPECT_EQ(judged(server_failure(), nothing()).status, Status::kServFail);
  EXPECT_EQ(judged(failure(ErrorKind::kTimedOut), nothing()).status, Status::kTimedOut);
  EXPECT_EQ(judged(kOutstanding, kOutstanding).status, Status::kTimedOut);
  EXPECT_EQ(judged(failure(ErrorKind::kInvalid), nothing()).status, Status::kServFail);
  EXPECT_EQ(judged(failure(ErrorKind::kUnavailable), nothing()).status, Status::kServFail);
  EXPECT_EQ(judged(failure(ErrorKind::kOverloaded), nothing()).status, Status::kOverloaded);
}

TEST(JudgeRecords, GivesWhatWasFoundAndTellsFailuresApart) {
  dns::UpstreamAnswer answer;
  answer.kind = Kind::kFound;
  answer.rcode = dns::Rcode::kNoError;
  answer.records = {{1, 'x'}};
  answer.ttl = 86400;
  auto found = judge_records(FamilyAnswer(Result<dns::UpstreamAnswer>(answer)));
  EXPECT_EQ(found.status, Status::kOk);
  EXPECT_EQ(found.records, answer.records);
  EXPECT_EQ(found.ttl, kMaxTtl);
  EXPECT_EQ(judge_records(nothing()).status, Status::kNoData);
  EXPECT_EQ(judge_records(missing()).status, Status::kNxDomain);
  EXPECT_EQ(judge_records(server_failure()).status, Status::kServFail);
  EXPECT_EQ(judge_records(failure(ErrorKind::kTimedOut)).status, Status::kTimedOut);
  EXPECT_EQ(judge_records(server_failure()).ttl, kFailureTtl);
}

TEST(Combine, CapsTimes) {
  EXPECT_EQ(judged(addresses({"8.8.8.8"}, 86400), nothing()).ttl, kMaxTtl);
  EXPECT_EQ(judged(nothing(86400), nothing(86400)).ttl, kMaxNegativeTtl);
  EXPECT_EQ(judged(addresses({"10.0.0.1"}, 86400), nothing(86400)).ttl, kMaxNegativeTtl);
  EXPECT_EQ(judged(addresses({"8.8.8.8"}, 0), nothing()).ttl, 0u);
}

}  // namespace
}  // namespace sallyport::resolver
