#include "core/sys/descriptor_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace sallyport::sys {
namespace {

TEST(DescriptorLimit, RaisesTheSoftLimitWithinTheHardOneAndNeverLowersIt) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low{128, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  rlimit now{};
  use_available_descriptors(200);
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, 200u);
  use_available_descriptors(100);
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, 200u);
  use_available_descriptors(~0ull);
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, before.rlim_max);
  EXPECT_EQ(now.rlim_max, before.rlim_max);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace sallyport::sys
