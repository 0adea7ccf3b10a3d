#include "proxy/task/destinations.h"

#include <gtest/gtest.h>

namespace sallyport::proxy {
namespace {

policy::Target name(const std::string& text) { return HostName::parse(text).value(); }

TEST(Destinations, AFloodOfRefusedNamesDoesNotHideWhatWasUsed) {
  Destinations seen;
  for (std::size_t i = 0; i < 2 * Destinations::kMax; ++i) seen.deny(name("x" + std::to_string(i) + ".denied.test"), Port::of(53));
  ++seen.of(name("allowed.test"), Port::of(80)).requests;
  EXPECT_EQ(seen.named().size(), Destinations::kMax);
  ASSERT_TRUE(seen.named().contains("allowed.test:80"));
  EXPECT_EQ(seen.named().at("allowed.test:80").requests, 1u);
  EXPECT_EQ(seen.total().denied, 2 * Destinations::kMax);
}

TEST(Destinations, PastTheBoundUseIsCountedAsOfOthers) {
  Destinations seen;
  for (std::size_t i = 0; i < Destinations::kMax + 3; ++i) ++seen.of(name("x" + std::to_string(i) + ".test"), Port::of(80)).connections;
  EXPECT_EQ(seen.named().size(), Destinations::kMax);
  EXPECT_EQ(seen.others().connections, 3u);
  EXPECT_EQ(seen.total().connections, Destinations::kMax + 3);
}

}  // namespace
}  // namespace sallyport::proxy
