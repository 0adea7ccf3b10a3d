// Which calls a daemon's filter ends the process for, and which it lets through.
#include "core/sys/seccomp.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>

#include "core/sys/confine_fixture.h"

namespace sallyport::sys {
namespace {

using testing::As;
using testing::exited;
using testing::kKilled;
using testing::outcome;

class Syscalls : public testing::Confine {};
SALLYPORT_AS_BOTH_USERS(Syscalls);

TEST_P(Syscalls, OpensOnlyInternetSockets) {
  struct {
    int family, type, protocol;
  } shut[] = {{AF_UNIX, SOCK_STREAM, 0},
              {AF_NETLINK, SOCK_RAW, 0},
              {AF_VSOCK, SOCK_STREAM, 0},
              {AF_INET, SOCK_STREAM, 262},
              {AF_INET, SOCK_STREAM, 132},
              {AF_INET, SOCK_DGRAM, IPPROTO_ICMP},
              {AF_INET, SOCK_RAW, IPPROTO_TCP},
              {AF_INET6, SOCK_SEQPACKET, 0},
              {AF_PACKET, SOCK_DGRAM, 0},
              {AF_ALG, SOCK_SEQPACKET, 0},
              {AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE}};
  for (auto [family, type, protocol] : shut)
    EXPECT_EQ(confined([&] { return outcome(socket(family, type, protocol)); }), kKilled) << family << ' ' << type;
  for (int family : {AF_UNIX, AF_NETLINK, AF_VSOCK})
    EXPECT_EQ(control([&] { return outcome(socket(family, family == AF_NETLINK ? SOCK_RAW : SOCK_STREAM, 0)); }),
              exited(0));
  for (int family : {AF_INET, AF_INET6})
    for (int type : {SOCK_STREAM, SOCK_DGRAM})
      EXPECT_EQ(confined([&] { return outcome(socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }), exited(0));
}

TEST_P(Syscalls, SetsOnlyTheUsualSocketOptions) {
  auto set = [](int level, int name) {
    return [=] {
      int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
      return outcome(setsockopt(fd, level, name, &one, sizeof one));
    };
  };
  EXPECT_EQ(confined(set(IPPROTO_TCP, TCP_NODELAY)), exited(0));
  EXPECT_EQ(confined(set(SOL_SOCKET, SO_ATTACH_FILTER)), kKilled);
  EXPECT_EQ(confined(set(IPPROTO_TCP, TCP_REPAIR)), kKilled);
  EXPECT_EQ(confined(set(IPPROTO_IP, 64 /* IPT_SO_SET_REPLACE */)), kKilled);
}

TEST_P(Syscalls, MapsNoCode) {
  auto map = [](int protection) {
    return [=] { return mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED; };
  };
  EXPECT_EQ(control(map(PROT_READ | PROT_EXEC)), exited(0));
  EXPECT_EQ(confined(map(PROT_READ | PROT_WRITE)), exited(0));
  EXPECT_EQ(confined(map(PROT_READ | PROT_EXEC)), kKilled);
  EXPECT_EQ(confined([] {
              void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              return outcome(mprotect(page, 4096, PROT_READ | PROT_EXEC));
            }),
            kKilled);
}

TEST_P(Syscalls, MakesNoDangerousCall) {
  for (long number : {SYS_io_uring_setup,
                      SYS_bpf,
                      SYS_userfaultfd,
                      SYS_perf_event_open,
                      SYS_keyctl,
                      SYS_add_key,
                      SYS_process_vm_readv,
                      SYS_process_vm_writev,
                      SYS_pidfd_open,
                      SYS_pidfd_getfd,
                      SYS_setns,
                      SYS_seccomp,
                      SYS_init_module,
                      SYS_open_by_handle_at,
                      SYS_move_mount,
                      SYS_fsopen,
                      SYS_shmget,
                      SYS_msgget,
                      SYS_clone3,
                      SYS_personality,
                      SYS_kcmp,
                      SYS_ioperm,
                      SYS_iopl,
                      SYS_modify_ldt,
                      SYS_mknod,
                      SYS_symlink,
                      SYS_capset,
                      SYS_openat2,
                      SYS_mount_setattr,
                      SYS_landlock_create_ruleset,
                      SYS_io_setup,
                      SYS_swapon,
                      SYS_reboot})
    EXPECT_EQ(confined([=] { return outcome(syscall(number, -1, -1, -1, -1, -1, -1)); }), kKilled) << number;
  EXPECT_EQ(confined([] { return outcome(ioctl(0, TIOCSTI, "x")); }), kKilled);
  EXPECT_EQ(confined([] { return outcome(fcntl(0, F_SETOWN, 1)); }), kKilled);
  EXPECT_EQ(confined([] { return outcome(prctl(PR_SET_DUMPABLE, 1)) == 0 ? 0 : errno; }), kKilled);
  rlimit64 limit{1, 1};
  EXPECT_EQ(confined([&] { return outcome(prlimit64(0, RLIMIT_NOFILE, &limit, nullptr)); }), kKilled);
  EXPECT_EQ(confined([&] { return outcome(prlimit64(0, RLIMIT_NOFILE, nullptr, &limit)); }), exited(0));
}

#if defined(__x86_64__)
TEST_P(Syscalls, SpeaksNoOtherAbi) {
  auto getpid32 = [] {
    long result = 20;  // getpid of i386
    asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    return result > 0 ? 0 : 1;
  };
  EXPECT_EQ(confined(getpid32).how, ExitStatus::How::kSignalled);
  EXPECT_EQ(confined([] { return outcome(syscall(0x40000000 | 39)); }), kKilled);  // x32
}
#endif

TEST_P(Syscalls, StillPollsAndAborts) {
  EXPECT_EQ(confined([]() -> int { abort(); }), testing::killed_by(SIGABRT));
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  EXPECT_EQ(confined([&] {
              pollfd wait{reader.get(), POLLIN, 0};
              if (poll(&wait, 1, 10) != 0) return 1;
              return write(writer.get(), "x", 1) == 1 && poll(&wait, 1, 1000) == 1 ? 0 : 2;
            }),
            exited(0));
}

}  // namespace
}  // namespace sallyport::sys
