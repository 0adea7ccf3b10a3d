#include "proxy/task/real_addresses.h"

#include <gtest/gtest.h>

namespace sallyport::proxy {
namespace {

const Clock::time_point kStart{std::chrono::hours(10)};

HostName host(const std::string& text) { return HostName::parse(text).value(); }
IpAddress ip(const char* text) { return IpAddress::parse(text).value(); }

TEST(RealAddresses, KnowTheNamesOfAnAddress) {
  RealAddresses real;
  EXPECT_TRUE(real.learn(host("a.test"), std::vector{ip("192.0.2.1"), ip("2001:db8::1")}, kStart));
  EXPECT_TRUE(real.learn(host("b.test"), std::vector{ip("192.0.2.1")}, kStart));
  EXPECT_TRUE(real.learn(host("a.test"), std::vector{ip("192.0.2.1")}, kStart)) << "once more";
  EXPECT_EQ(real.names_of(ip("192.0.2.1"), kStart), (std::vector{host("a.test"), host("b.test")}));
  EXPECT_EQ(real.names_of(ip("2001:db8::1"), kStart), std::vector{host("a.test")});
  EXPECT_TRUE(real.names_of(ip("192.0.2.2"), kStart).empty());
  EXPECT_EQ(real.size(), 3u);
}

TEST(RealAddresses, ForgetWhatIsOld) {
  RealAddresses real;
  real.learn(host("a.test"), std::vector{ip("192.0.2.1")}, kStart);
  auto later = kStart + RealAddresses::kKept;
  EXPECT_EQ(real.names_of(ip("192.0.2.1"), later - std::chrono::seconds(1)).size(), 1u);
  EXPECT_TRUE(real.names_of(ip("192.0.2.1"), later).empty());
}

TEST(RealAddresses, DenyMoreThanTheyHold) {
  RealAddresses real;
  std::size_t learnt = 0;
  for (unsigned i = 0; i < 5000; ++i) {
    auto address = IpAddress::v4({192, 0, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i & 0xff)});
    learnt += real.learn(host("n" + std::to_string(i) + ".test"), std::vector{address}, kStart) ? 1 : 0;
  }
  EXPECT_EQ(learnt, RealAddresses::kMax);
  EXPECT_TRUE(real.learn(host("later.test"), std::vector{ip("192.0.2.9")}, kStart + RealAddresses::kKept)) << "old ones make room";
  EXPECT_EQ(real.size(), 1u);
}

TEST(RealAddresses, DenyMoreNamesOfOneAddressThanEachConnectionCanLookAt) {
  RealAddresses real;
  auto shared = std::vector{ip("192.0.2.1")};
  for (std::size_t i = 0; i < RealAddresses::kMaxNames; ++i)
    EXPECT_TRUE(real.learn(host("n" + std::to_string(i) + ".test"), shared, kStart));
  EXPECT_FALSE(real.learn(host("more.test"), std::vector{ip("192.0.2.2"), ip("192.0.2.1")}, kStart));
  EXPECT_TRUE(real.names_of(ip("192.0.2.2"), kStart).empty()) << "all of its addresses or none";
  EXPECT_TRUE(real.learn(host("n5.test"), shared, kStart)) << "one that is known";
  EXPECT_TRUE(real.learn(host("more.test"), std::vector{ip("192.0.2.2")}, kStart)) << "another address";
  EXPECT_TRUE(real.learn(host("later.test"), shared, kStart + RealAddresses::kKept)) << "old ones make room";
  EXPECT_EQ(real.names_of(ip("192.0.2.1"), kStart + RealAddresses::kKept).size(), 1u);
}

}  // namespace
}  // namespace sallyport::proxy
