#include "core/sys/privileges.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <cerrno>

#include "core/sys/read_file.h"
#include "core/sys/test_child.h"

namespace sallyport::sys {
namespace {

using testing::exited;
using testing::in_child;
using testing::kSetupFailed;

TEST(Privileges, DropToLeavesNoWayBack) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  EXPECT_EQ(in_child([] {
              gid_t group = 4;
              if (setgroups(1, &group) != 0 || !drop_to(kAuditUser)) return kSetupFailed;
              auto now = process_credentials(0).value();
              bool all = now.real_uid == kAuditUser.uid && now.effective_uid == kAuditUser.uid &&
                         now.saved_uid == kAuditUser.uid && now.saved_gid == kAuditUser.gid &&
                         !now.supplementary_groups;
              return all && setuid(0) != 0 && setgid(0) != 0 && now.cap_effective == 0 ? 0 : 1;
            }),
            exited(0));
}

TEST(Privileges, DropToNoticesThatCapabilitiesWereKept) {
  if (testing::kUnderTsan) GTEST_SKIP() << "needs a process with one thread";
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  EXPECT_EQ(in_child([] {
              // With SECBIT_NO_SETUID_FIXUP the capabilities survive the change of user, and so does the way back.
              if (prctl(PR_SET_SECUREBITS, 1 << 2) != 0) return kSetupFailed;
              auto dropped = drop_to(kAuditUser);
              return !dropped && dropped.error().kind == ErrorKind::kInternal ? 0 : 1;
            }),
            exited(0));
}

TEST(Privileges, DropToRefusesRootAndNeedsRoot) {
  for (User user : {User{0, 5}, User{5, 0}, User{static_cast<uid_t>(-1), 5}})
    EXPECT_EQ(drop_to(user).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(in_child([] {
              if (!testing::become_ordinary_user()) return kSetupFailed;
              return drop_to(kAuditUser).error().kind == ErrorKind::kDenied ? 0 : 1;
            }),
            exited(0));
}

TEST(Privileges, DropsAllCapabilities) {
  EXPECT_EQ(in_child([] {
              bool root = geteuid() == 0;
              if (root && process_credentials(0).value().cap_effective == 0) return kSetupFailed;
              if (!drop_all_capabilities()) return 1;
              auto now = process_credentials(0).value();
              if (root && now.cap_bounding != 0) return 2;
              return (now.cap_effective | now.cap_permitted | now.cap_inheritable | now.cap_ambient) == 0 ? 0 : 3;
            }),
            exited(0));
}

TEST(Privileges, SetsNoNewPrivsAndNotDumpable) {
  EXPECT_EQ(in_child([] {
              if (process_credentials(0).value().no_new_privs) return kSetupFailed;
              if (!set_no_new_privs() || !set_not_dumpable()) return 1;
              return process_credentials(0).value().no_new_privs && prctl(PR_GET_DUMPABLE) == 0 ? 0 : 2;
            }),
            exited(0));
}

TEST(ProcessCredentials, AreThoseOfTheProcess) {
  auto self = process_credentials(0).value();
  EXPECT_EQ(self.pid, getpid());
  EXPECT_EQ(self.parent, getppid());
  EXPECT_EQ(self.effective_uid, geteuid());
  EXPECT_EQ(self.threads, 1);
  EXPECT_EQ(process_credentials(getpid()).value().pid, getpid());
  EXPECT_EQ(process_credentials(0x7ffffff0).error().kind, ErrorKind::kUnavailable);
}

TEST(ProcessStatus, RefusesAnyMissingOrOddLine) {
  std::string text = read_small_file("/proc/self/status").value();
  ASSERT_TRUE(parse_process_status(text));
  for (std::string key : {"Pid", "PPid", "Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb",
                          "NoNewPrivs", "Seccomp", "Threads"}) {
    std::string missing = text;
    missing.replace(missing.find("\n" + key + ":"), 2, "\nX");
    EXPECT_FALSE(parse_process_status(missing)) << key;
    if (key == "Groups") continue;
    std::string odd = text;
    odd.insert(odd.find("\n" + key + ":") + key.size() + 3, "z");
    EXPECT_FALSE(parse_process_status(odd)) << key;
  }
  EXPECT_FALSE(parse_process_status(""));
  // A process chooses its own name; it must not be able to choose a line.
  std::string named = text;
  named.replace(0, named.find('\n'), "Name:\tCapEff:\\n0");
  EXPECT_EQ(parse_process_status(named).value().cap_effective, parse_process_status(text).value().cap_effective);
}

TEST(UserNamespace, OfTheTestIsKnown) {
  if (testing::kUnderTsan) GTEST_SKIP() << "needs a process with one thread";
  EXPECT_EQ(in_child([] {
              if (!in_initial_user_namespace().has_value()) return kSetupFailed;
              if (!testing::become_ordinary_user()) return kSetupFailed;
              if (unshare(CLONE_NEWUSER) != 0) return kSetupFailed;
              return in_initial_user_namespace().value() ? 1 : 0;
            }),
            exited(0));
}

TEST(UserNamespace, OfOnlyOneUserCannotBecomeAnother) {
  if (testing::kUnderTsan) GTEST_SKIP() << "needs a process with one thread";
  EXPECT_EQ(may_become(kProxyUser).value(), geteuid() == 0 && in_initial_user_namespace().value());
  EXPECT_EQ(in_child([] {
              if (!testing::become_ordinary_user()) return kSetupFailed;
              if (may_become(kProxyUser).value()) return 1;
              std::string own = std::to_string(geteuid());
              if (unshare(CLONE_NEWUSER) != 0 || !write_small_file("/proc/self/uid_map", "0 " + own + " 1"))
                return kSetupFailed;
              return geteuid() == 0 && !may_become(kProxyUser).value() ? 0 : 2;
            }),
            exited(0));
}

}  // namespace
}  // namespace sallyport::sys
