#include "sandbox-launcher/bwrap/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sallyport::launcher {
namespace {

using ::testing::Contains;
using ::testing::Not;

std::vector<std::string> example() {
  BwrapRequest request;
  request.root = "/mnt";
  request.host_name = "t-1";
  request.filter_fd = 5;
  request.environment = {"A=b=c", "EMPTY="};
  request.hidden = {"/proc/kcore"};
  request.shm_size = ByteCount{4096};
  return bwrap_options(request);
}

// True when `words` stand one after the other.
bool has(const std::vector<std::string>& options, const std::vector<std::string>& words) {
  return std::search(options.begin(), options.end(), words.begin(), words.end()) != options.end();
}

TEST(BwrapOptions, UnshareEverythingAndDropEverything) {
  auto options = example();
  for (const char* one : {"--unshare-all", "--unshare-user", "--unshare-cgroup", "--new-session", "--die-with-parent",
                          "--as-pid-1", "--clearenv"})
    EXPECT_THAT(options, Contains(one));
  EXPECT_TRUE(has(options, {"--cap-drop", "ALL"}));
  EXPECT_TRUE(has(options, {"--seccomp", "5"}));
  EXPECT_TRUE(has(options, {"--uid", "1000", "--gid", "1000"}));
  for (const char* one : {"--share-net", "--cap-add", "--dev-bind", "--unshare-user-try", "--unshare-cgroup-try"})
    EXPECT_THAT(options, Not(Contains(one)));
}

TEST(BwrapOptions, TakeOnlyTheStagedRootFromTheHost) {
  auto options = example();
  EXPECT_EQ(std::count(options.begin(), options.end(), "--bind"), 1);
  EXPECT_TRUE(has(options, {"--bind", "/mnt", "/"}));
  EXPECT_TRUE(has(options, {"--ro-bind", "/dev/null", "/proc/kcore"}));
  EXPECT_TRUE(has(options, {"--remount-ro", "/dev"}));
}

TEST(BwrapOptions, SplitVariablesAtTheFirstEqualsSign) {
  auto options = example();
  EXPECT_TRUE(has(options, {"--setenv", "A", "b=c"}));
  EXPECT_TRUE(has(options, {"--setenv", "EMPTY", ""}));
}

}  // namespace
}  // namespace sallyport::launcher
