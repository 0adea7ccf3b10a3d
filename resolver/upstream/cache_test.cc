#include "resolver/upstream/cache.h"

#include <gtest/gtest.h>

namespace sallyport::resolver {
namespace {

using Status = Resolution::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;

const Clock::time_point kStart{seconds(1000)};

Sought host(int i) { return {HostName::parse("n" + std::to_string(i) + ".test").value()}; }
Resolution found(std::uint32_t ttl, Status status = Status::kOk) {
  return {status, {IpAddress::v4({8, 8, 8, 8})}, ttl, {}};
}

TEST(Cache, KeepsForTheTtlAndTellsWhatIsLeft) {
  Cache cache(10);
  cache.put(host(1), found(30), kStart);
  EXPECT_EQ(cache.find(host(1), kStart)->ttl, 30u);
  EXPECT_EQ(cache.find(host(1), kStart + milliseconds(10'500))->ttl, 20u);
  EXPECT_EQ(cache.find(host(1), kStart + milliseconds(29'999))->ttl, 1u);
  EXPECT_EQ(cache.find(host(1), kStart + seconds(30)), nullptr);
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(cache.find(host(2), kStart), nullptr);
}

// dns-023
TEST(Cache, DeniesZeroTtlAndWhatIsOfTheMoment) {
  Cache cache(10);
  cache.put(host(1), found(0), kStart);
  cache.put(host(2), found(30, Status::kOverloaded), kStart);
  EXPECT_EQ(cache.size(), 0u);
  for (auto status : {Status::kNxDomain, Status::kNoData, Status::kRefusedAddress, Status::kServFail, Status::kTimedOut}) {
    cache.put(host(3), found(30, status), kStart);
    EXPECT_EQ(cache.find(host(3), kStart)->status, status);
  }
}

TEST(Cache, KeepsRecordsApartFromAddresses) {
  Cache cache(10);
  Sought txt{host(1).name, dns::Type::kTxt}, mx{host(1).name, dns::Type::kMx};
  cache.put(host(1), found(30), kStart);
  EXPECT_EQ(cache.find(txt, kStart), nullptr);
  cache.put(txt, found(30, Status::kNoData), kStart);
  EXPECT_EQ(cache.find(txt, kStart)->status, Status::kNoData);
  EXPECT_EQ(cache.find(host(1), kStart)->status, Status::kOk);
  EXPECT_EQ(cache.find(mx, kStart), nullptr);
}

TEST(Cache, ALaterAnswerReplacesAnEarlierOne) {
  Cache cache(10);
  cache.put(host(1), found(30), kStart);
  cache.put(host(1), found(5, Status::kNxDomain), kStart);
  EXPECT_EQ(cache.find(host(1), kStart)->status, Status::kNxDomain);
  cache.put(host(1), found(0), kStart);
  EXPECT_EQ(cache.find(host(1), kStart), nullptr);
}

TEST(Cache, DropsTheNameUsedLongestAgo) {
  Cache cache(3);
  for (int i = 1; i <= 3; ++i) cache.put(host(i), found(30), kStart);
  EXPECT_NE(cache.find(host(1), kStart), nullptr);
  cache.put(host(4), found(30), kStart);
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_EQ(cache.find(host(2), kStart), nullptr);
  for (int i : {1, 3, 4}) EXPECT_NE(cache.find(host(i), kStart), nullptr) << i;
}

}  // namespace
}  // namespace sallyport::resolver
