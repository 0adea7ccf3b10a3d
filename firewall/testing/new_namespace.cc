#include "firewall/testing/new_namespace.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "firewall/inspect/text_file.h"

namespace sallyport::firewall {

namespace {

constexpr int kNoNamespaces = 77;

bool become_root_inside(unsigned uid, unsigned gid) {
  auto map = [](unsigned outside) { return "0 " + std::to_string(outside) + " 1"; };
  return ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && write_text_file("/proc/self/setgroups", "deny") &&
         write_text_file("/proc/self/uid_map", map(uid)) && write_text_file("/proc/self/gid_map", map(gid));
}

}  // namespace

void in_new_namespace(const std::function<bool()>& check) {
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!become_root_inside(::geteuid(), ::getegid())) ::_exit(kNoNamespaces);
    ::_exit(check() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoNamespaces) GTEST_SKIP() << "no user namespaces here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace sallyport::firewall
