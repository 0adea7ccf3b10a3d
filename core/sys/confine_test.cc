// What a confined process cannot reach or do to others; each attempt has a control that shows it works without.
#include "core/sys/confine.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "core/sys/confine_fixture.h"
#include "core/sys/read_file.h"

namespace sallyport::sys {
namespace {

using testing::As;
using testing::Confine;
using testing::exited;
using testing::fork_child;
using testing::in_child;
using testing::kKilled;
using testing::kSetupFailed;
using testing::open_passwd;
using testing::outcome;
using testing::usual;

SALLYPORT_AS_BOTH_USERS(Confine);

TEST_P(Confine, HasNoFiles) {
  EXPECT_EQ(control(open_passwd), exited(0));
  EXPECT_EQ(confined(open_passwd), kKilled);
  Confinement quiet = usual(GetParam());
  quiet.filter.refuse_file_lookups();
  EXPECT_EQ(confined(quiet, open_passwd), exited(EACCES));
  EXPECT_EQ(confined_with("openat", open_passwd), exited(ENOENT)) << "the layer below the filter: an empty root";
}

TEST_P(Confine, HasAnEmptyRoot) {
  EXPECT_EQ(confined_with("access", [] { return outcome(access("/etc", F_OK)); }), exited(ENOENT));
  EXPECT_EQ(control([] { return outcome(access("/etc", F_OK)); }), exited(0));
  // Where pivot_root leaves the old root until it is detached.
  EXPECT_EQ(confined_with("access", [] { return outcome(access("/../etc", F_OK)); }), exited(ENOENT));
  Confinement writes = usual(GetParam());
  writes.filter.allow("mkdir").allow("mknodat");
  EXPECT_EQ(confined(writes, [] { return mkdir("/x", 0700) == 0 || mknod("/y", S_IFIFO, 0) == 0; }), exited(0));
}

TEST_P(Confine, CannotUseAnOpenDirectory) {
  if (landlock_abi() == 0) GTEST_SKIP() << "no Landlock here";
  int etc = -1;
  auto open_etc = [&] { return (etc = open("/etc", O_PATH | O_DIRECTORY)) < 0; };
  auto through_it = [&] { return outcome(openat(etc, "passwd", O_RDONLY)); };
  EXPECT_EQ(control(through_it, open_etc), exited(0));
  EXPECT_EQ(confined_with("openat", through_it, open_etc), exited(EACCES));
}

TEST_P(Confine, KeepsAGrantedDirectoryForAppending) {
  if (landlock_abi() == 0) GTEST_SKIP() << "no Landlock here";
  char path[] = "/tmp/sallyport-grant-XXXXXX";
  ASSERT_NE(mkdtemp(path), nullptr);
  chmod(path, 0777);
  UniqueFd directory(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
  Confinement wanted = usual(GetParam());
  wanted.directories = {{directory.get(), DirectoryGrant::Rights::kAppend}};
  wanted.filter.open_files().append_files().allow("unlinkat").allow("mkdirat");
  EXPECT_EQ(confined(wanted,
                     [&] {
                       int fd = openat(directory.get(), "log", O_WRONLY | O_CREAT | O_APPEND, 0644);
                       return fd < 0 ? errno : write(fd, "x", 1) == 1 ? 0 : errno;
                     }),
            exited(0));
  EXPECT_EQ(confined(wanted, [&] { return outcome(unlinkat(directory.get(), "log", 0)); }), exited(EACCES));
  EXPECT_EQ(confined(wanted, [&] { return outcome(mkdirat(directory.get(), "d", 0700)); }), exited(EACCES));
  EXPECT_EQ(confined(wanted, [&] { return outcome(openat(directory.get(), "../../etc/passwd", O_RDONLY)); }),
            exited(EACCES));
  unlinkat(directory.get(), "log", 0);
  rmdir(path);
}

struct Listener {
  Listener() {
    fd.reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size);
    listen(fd.get(), 8);
    getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  }
  int dial() const {
    UniqueFd socket_fd(socket(AF_INET, SOCK_STREAM, 0));
    return outcome(connect(socket_fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  }
  UniqueFd fd;
  sockaddr_in address{};
};

TEST_P(Confine, StaysInItsNetworkNamespaceAndDialsOnlyWhenItMay) {
  Listener listener;
  EXPECT_EQ(confined([&] { return listener.dial(); }), exited(0));
  Confinement offline = usual(GetParam());
  offline.network = Confinement::Network::kNoTcp;
  if (landlock_abi() >= 4) EXPECT_EQ(confined(offline, [&] { return listener.dial(); }), exited(EACCES));
  offline.filter = SyscallFilter().event_loop();
  EXPECT_EQ(confined(offline, [&] { return listener.dial(); }), kKilled);
}

TEST_P(Confine, ReachesNoAbstractSocketThroughAnInheritedOne) {
  if (landlock_abi() < 6) GTEST_SKIP() << "Landlock without scopes";
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::string text = "sallyport-test-" + std::to_string(getpid());
  memcpy(name.sun_path + 1, text.data(), text.size());
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  UniqueFd server(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(server.get(), reinterpret_cast<sockaddr*>(&name), size), 0);
  ASSERT_EQ(listen(server.get(), 4), 0);
  int inherited = -1;
  auto make = [&] { return (inherited = socket(AF_UNIX, SOCK_STREAM, 0)) < 0; };
  auto reach = [&] { return outcome(connect(inherited, reinterpret_cast<sockaddr*>(&name), size)); };
  EXPECT_EQ(control(reach, make), exited(0));
  EXPECT_EQ(confined(usual(GetParam()), reach, make), exited(EPERM));
}

int run_true() {
  char* argv[] = {const_cast<char*>("true"), nullptr};
  execve("/bin/true", argv, nullptr);
  return errno;
}

TEST_P(Confine, StartsNoProgram) {
  EXPECT_EQ(control(run_true), exited(0));
  EXPECT_EQ(confined(run_true), kKilled);
  EXPECT_EQ(confined_with("execve", run_true), exited(ENOENT));
  if (landlock_abi() == 0) return;
  int program = -1;
  auto open_it = [&] { return (program = open("/bin/true", O_PATH)) < 0; };
  auto run_it = [&] {
    char* argv[] = {const_cast<char*>("true"), nullptr};
    syscall(SYS_execveat, program, "", argv, nullptr, AT_EMPTY_PATH);
    return errno;
  };
  EXPECT_EQ(control(run_it, open_it), exited(0));
  EXPECT_EQ(confined_with("execveat", run_it, open_it), exited(EACCES));
}

TEST_P(Confine, StartsNoProcess) {
  auto try_fork = [] {
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    return outcome(pid);
  };
  EXPECT_EQ(control(try_fork), exited(0));
  EXPECT_EQ(confined(try_fork), kKilled);
#if defined(SYS_fork)
  auto raw_fork = [] {
    long pid = syscall(SYS_fork);
    if (pid == 0) _exit(0);
    return outcome(pid);
  };
  EXPECT_EQ(control(raw_fork), exited(0));
  EXPECT_EQ(confined_with("fork", raw_fork), exited(EAGAIN)) << "the layer below the filter: RLIMIT_NPROC";
#endif
  Confinement with_threads = usual(GetParam());
  with_threads.filter.threads();
  EXPECT_EQ(confined(with_threads, try_fork), kKilled);
  EXPECT_EQ(confined(with_threads,
                     [] {
                       int value = 1;
                       std::thread([&] { value = 0; }).join();
                       return value;
                     }),
            exited(0));
}

// A process of the same user, asleep, to be attacked.
class Victim {
 public:
  explicit Victim(User user)
      : child_(fork_child([=] {
          if (geteuid() == 0 && !drop_to(user)) return kSetupFailed;
          prctl(PR_SET_DUMPABLE, 1);
          sleep(25);
          return 0;
        })) {
    usleep(50000);
  }
  pid_t pid() const { return child_.pid(); }
  bool ended() { return child_.try_wait().value().has_value(); }

 private:
  ChildProcess child_;
};

TEST_P(Confine, HarmsNoOtherProcess) {
  // The victim runs as the very user the confined process ends up as.
  Victim victim(GetParam() == As::kRoot ? kProxyUser : testing::kNobody);
  auto attack = [&] { return outcome(kill(victim.pid(), SIGCONT)); };
  auto trace = [&] { return outcome(ptrace(PTRACE_SEIZE, victim.pid(), nullptr, nullptr)); };
  EXPECT_EQ(control(attack), exited(0));
  EXPECT_EQ(confined(attack), kKilled);
  EXPECT_EQ(confined([&] { return outcome(syscall(SYS_tgkill, victim.pid(), victim.pid(), SIGCONT)); }), kKilled);
  if (landlock_abi() >= 6) EXPECT_EQ(confined_with("kill", attack), exited(EPERM));
  EXPECT_EQ(control(trace), exited(0));
  EXPECT_EQ(confined(trace), kKilled);
  EXPECT_EQ(confined_with("ptrace", trace), exited(EPERM));
  EXPECT_FALSE(victim.ended());
}

TEST_P(Confine, MountsNothingAndChangesNoUser) {
  auto try_mount = [] { return outcome(mount("t", "/", "tmpfs", 0, nullptr)); };
  EXPECT_EQ(confined(try_mount), kKilled);
  EXPECT_EQ(confined_with("mount", try_mount), exited(EPERM));
  EXPECT_EQ(in_child([&] {
              if (!become() || unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kSetupFailed;
              return try_mount();
            }),
            exited(0));
  auto become_root = [] { return outcome(syscall(SYS_setresuid, 0, 0, 0)); };
  EXPECT_EQ(confined(become_root), kKilled);
  Confinement loose = usual(GetParam());
  loose.filter.allow("setresuid");
  ExitStatus refused = confined(loose, become_root);
  EXPECT_TRUE(refused == exited(EPERM) || refused == exited(EINVAL)) << refused.text();
  EXPECT_EQ(confined([] { return outcome(unshare(CLONE_NEWUSER)); }), kKilled);
  EXPECT_EQ(confined([] { return outcome(chroot("/")); }), kKilled);
}

// Confines itself and waits; seen from outside.
TEST_P(Confine, LooksConfinedFromOutside) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  UniqueFd ready(ends[0]), tell(ends[1]);
  auto host = current_namespace_id(NamespaceKind::kNetwork).value();
  ChildProcess child = fork_child([&] {
    if (!become()) return kSetupFailed;
    auto report = confine(usual(GetParam()));
    if (!report || !report.value().bounding_set_empty || !report.value().empty_root) return kSetupFailed;
    if (write(tell.get(), "x", 1) != 1) return kSetupFailed;
    pollfd nothing{-1, 0, 0};
    return poll(&nothing, 1, 20000);
  });
  tell.reset();
  char byte = 0;
  ASSERT_EQ(read(ready.get(), &byte, 1), 1);
  auto seen = process_credentials(child.pid()).value();
  EXPECT_EQ(seen.seccomp, 2);
  EXPECT_TRUE(seen.no_new_privs);
  EXPECT_EQ(seen.cap_effective | seen.cap_permitted | seen.cap_inheritable | seen.cap_ambient | seen.cap_bounding, 0U);
  if (GetParam() == As::kRoot) {
    EXPECT_EQ(seen.real_uid, kProxyUser.uid);
    EXPECT_EQ(seen.saved_gid, kProxyUser.gid);
    EXPECT_FALSE(seen.supplementary_groups);
    EXPECT_EQ(Namespace::of_process(child.pid(), NamespaceKind::kNetwork).value().id(), host);
  }
  // Another process of its user can neither trace it nor read its memory.
  std::string memory = "/proc/" + std::to_string(child.pid()) + "/mem";
  User same = GetParam() == As::kRoot ? kProxyUser : testing::kNobody;
  EXPECT_EQ(in_child([&] {
              if (geteuid() == 0 && !drop_to(same)) return kSetupFailed;
              bool shut = open(memory.c_str(), O_RDONLY) < 0 && ptrace(PTRACE_SEIZE, child.pid(), nullptr, nullptr) < 0;
              return shut ? 0 : 1;
            }),
            exited(0));
  auto before = process_credentials(0).value();
  EXPECT_EQ(before.seccomp, 0) << "the test itself is not confined";
}

TEST_P(Confine, KeepsTheParentDeathSignal) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  UniqueFd life(ends[0]), hold(ends[1]);
  EXPECT_EQ(in_child([&] {
              int confined_ends[2];
              if (pipe2(confined_ends, O_CLOEXEC) != 0) return kSetupFailed;
              if (fork() == 0) {
                alarm(20);
                if (!become() || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) _exit(kSetupFailed);
                if (!confine(usual(GetParam()))) _exit(kSetupFailed);
                [[maybe_unused]] ssize_t written = write(confined_ends[1], "x", 1);
                pollfd nothing{-1, 0, 0};
                _exit(poll(&nothing, 1, 20000));
              }
              close(confined_ends[1]);
              char byte = 0;
              return read(confined_ends[0], &byte, 1) == 1 ? 0 : kSetupFailed;
            }),
            exited(0));
  hold.reset();
  pollfd wait{life.get(), POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 5000), 1) << "the confined process outlives its parent";
}

TEST_P(Confine, RefusesContradictions) {
  auto refused = [](const Confinement& wanted, ErrorKind kind) {
    return in_child([&] {
      if (!become()) return kSetupFailed;
      auto report = confine(wanted);
      return report || report.error().kind != kind ? 1 : 0;
    });
  };
  Confinement empty = usual(GetParam());
  empty.filter = SyscallFilter();
  EXPECT_EQ(refused(empty, ErrorKind::kInvalid), exited(0));
  Confinement wrong_user = usual(GetParam() == As::kRoot ? As::kOrdinaryUser : As::kRoot);
  EXPECT_EQ(refused(wrong_user, ErrorKind::kInvalid), exited(0));
  Confinement unknown = usual(GetParam());
  unknown.filter.allow("no_such_call");
  EXPECT_EQ(refused(unknown, ErrorKind::kInvalid), exited(0));
  Confinement both = usual(GetParam());
  both.filter.open_files().refuse_file_lookups();
  EXPECT_EQ(refused(both, ErrorKind::kInvalid), exited(0));
  if (GetParam() == As::kRoot) {
    Confinement still_root = usual(As::kRoot);
    still_root.user = User{0, 0};
    EXPECT_EQ(refused(still_root, ErrorKind::kInvalid), exited(0));
  }
}

TEST_P(Confine, RefusesToRunWithThreads) {
  EXPECT_EQ(in_child([] {
              if (!become()) return kSetupFailed;
              std::thread waiting([] { sleep(20); });
              waiting.detach();
              auto report = confine(usual(GetParam()));
              return !report && report.error().kind == ErrorKind::kInvalid ? 0 : 1;
            }),
            exited(0));
}

TEST_P(Confine, OnlyLowersLimits) {
  Confinement wanted = usual(GetParam());
  wanted.limits = {{RLIMIT_NOFILE, 100}, {RLIMIT_AS, RLIM_INFINITY}};
  EXPECT_EQ(confined(
                wanted,
                [] {
                  rlimit files{}, core{}, space{};
                  getrlimit(RLIMIT_NOFILE, &files);
                  getrlimit(RLIMIT_CORE, &core);
                  getrlimit(RLIMIT_AS, &space);
                  return files.rlim_max == 100 && core.rlim_max == 0 && space.rlim_max == 1UL << 46 ? 0 : 1;
                },
                [] {
                  rlimit space{1UL << 46, 1UL << 46};
                  return setrlimit(RLIMIT_AS, &space);
                }),
            exited(0));
}

TEST(ConfineInAUserNamespace, WorksForItsRoot) {
  if (testing::kUnderTsan) GTEST_SKIP() << "needs a process with one thread";
  EXPECT_EQ(in_child([] {
              if (!testing::become_ordinary_user()) return kSetupFailed;
              std::string uid = std::to_string(geteuid()), gid = std::to_string(getegid());
              if (unshare(CLONE_NEWUSER) != 0 || !write_small_file("/proc/self/setgroups", "deny") ||
                  !write_small_file("/proc/self/uid_map", "0 " + uid + " 1") ||
                  !write_small_file("/proc/self/gid_map", "0 " + gid + " 1") || geteuid() != 0)
                return kSetupFailed;
              auto report = confine(usual(As::kOrdinaryUser));
              return report && report.value().empty_root && report.value().user_namespace ? 0 : 1;
            }),
            exited(0));
}

// A user namespace in which no further one may be made stands for a system that forbids them.
int enter_where_user_namespaces_are_forbidden() {
  uid_t uid = geteuid();
  gid_t gid = getegid();
  if (unshare(CLONE_NEWUSER) != 0) return kSetupFailed;
  if (!write_small_file("/proc/self/setgroups", "deny") ||
      !write_small_file("/proc/self/uid_map", "1000 " + std::to_string(uid) + " 1") ||
      !write_small_file("/proc/self/gid_map", "1000 " + std::to_string(gid) + " 1") ||
      !write_small_file("/proc/sys/user/max_user_namespaces", "0"))
    return kSetupFailed;
  return 0;
}

TEST(ConfineWithoutUserNamespaces, FailsUnlessToldToTakeLandlockAlone) {
  if (testing::kUnderTsan) GTEST_SKIP() << "needs a process with one thread";
  auto try_it = [](const Confinement& wanted, const std::function<int(Result<ConfinementReport>&)>& judge) {
    return in_child([&] {
      if (!testing::become_ordinary_user() || enter_where_user_namespaces_are_forbidden() != 0) return kSetupFailed;
      auto report = confine(wanted);
      return judge(report);
    });
  };
  Confinement wanted = usual(As::kOrdinaryUser);
  wanted.filter.allow("openat");
  EXPECT_EQ(try_it(wanted, [](auto& report) { return !report && report.error().kind == ErrorKind::kDenied ? 0 : 1; }),
            exited(0));
  if (landlock_abi() == 0) GTEST_SKIP() << "no Landlock here";
  wanted.without_user_namespace = AcceptLandlockOnly();
  EXPECT_EQ(try_it(wanted,
                   [](auto& report) {
                     if (!report || report.value().empty_root || report.value().user_namespace) return 1;
                     return open_passwd();
                   }),
            exited(EACCES));
}

}  // namespace
}  // namespace sallyport::sys
