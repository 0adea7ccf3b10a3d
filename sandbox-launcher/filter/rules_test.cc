// Loads the real filter in a child and makes real calls. Every refusal has an allowed twin.
#include "sandbox-launcher/filter/rules.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace sallyport::launcher {
namespace {

// What `call` gives under the filter: 0 when it succeeds, else errno. 1000 + n when the child ended otherwise.
int filtered(const std::function<long()>& call) {
  auto file = compile_filter();
  EXPECT_TRUE(file.has_value());
  if (!file) return 2000;
  std::vector<sock_filter> code(4096);
  ssize_t size = read(file.value().get(), code.data(), code.size() * sizeof(sock_filter));
  pid_t child = fork();
  if (child == 0) {
    sock_fprog program{static_cast<unsigned short>(static_cast<std::size_t>(size) / sizeof(sock_filter)), code.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
      _exit(255);
    errno = 0;
    _exit(call() >= 0 ? 0 : errno);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

long make_socket(int family, int type, int protocol = 0) { return syscall(SYS_socket, family, type, protocol); }

TEST(Filter, AllowsTcpUdpAndUnixSockets) {
  for (int family : {AF_INET, AF_INET6}) {
    EXPECT_EQ(filtered([=] { return make_socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK); }), 0);
    EXPECT_EQ(filtered([=] { return make_socket(family, SOCK_STREAM, IPPROTO_TCP); }), 0);
    EXPECT_EQ(filtered([=] { return make_socket(family, SOCK_DGRAM | SOCK_CLOEXEC); }), 0);
    EXPECT_EQ(filtered([=] { return make_socket(family, SOCK_DGRAM, IPPROTO_UDP); }), 0);
  }
  EXPECT_EQ(filtered([] { return make_socket(AF_UNIX, SOCK_SEQPACKET); }), 0);
  EXPECT_EQ(filtered([] {
              int pair[2];
              return static_cast<long>(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
            }),
            0);
}

// firewall-005
TEST(Filter, DeniesEveryOtherSocketFamily) {
  for (int family = 0; family < 64; ++family) {
    if (family == AF_UNIX || family == AF_INET || family == AF_INET6) continue;
    EXPECT_EQ(filtered([=] { return make_socket(family, SOCK_STREAM); }), EAFNOSUPPORT) << family;
    EXPECT_EQ(filtered([=] { return make_socket(family, SOCK_RAW); }), EAFNOSUPPORT) << family;
  }
  EXPECT_EQ(filtered([] { return syscall(SYS_socket, 0x100000000l | 40, SOCK_STREAM, 0); }), EAFNOSUPPORT);
}

TEST(Filter, TakesSocketArgumentsAsTheKernelDoes) {
  // Noise in the upper half is ignored by the kernel: the family is still AF_INET.
  EXPECT_EQ(filtered([] { return syscall(SYS_socket, 0x700000000l | AF_INET, SOCK_STREAM, 0); }), 0);
  EXPECT_EQ(filtered([] { return syscall(SYS_socket, AF_INET, SOCK_RAW | 0x700000000l, 0); }), EPERM);
}

TEST(Filter, DeniesRawSocketsAndOtherProtocols) {
  EXPECT_EQ(filtered([] { return make_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP); }), EPERM);
  EXPECT_EQ(filtered([] { return make_socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6); }), EPERM);
  EXPECT_NE(filtered([] { return make_socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP); }), 0);
  EXPECT_NE(filtered([] { return make_socket(AF_INET, SOCK_STREAM, 262 /* MPTCP */); }), 0);
  EXPECT_NE(filtered([] { return make_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP); }), 0);
}

// firewall-006
TEST(Filter, DeniesIoUring) {
  char parameters[256] = {};
  EXPECT_EQ(filtered([&] { return syscall(SYS_io_uring_setup, 4, parameters); }), ENOSYS);
  EXPECT_EQ(filtered([] { return syscall(SYS_io_uring_enter, -1, 0, 0, 0, nullptr, 0); }), ENOSYS);
}

TEST(Filter, DeniesTypingIntoATerminal) {
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(master, 0);
  char letter = 'x';
  winsize size{};
  EXPECT_EQ(filtered([&] { return syscall(SYS_ioctl, master, TIOCGWINSZ, &size); }), 0);
  EXPECT_EQ(filtered([&] { return syscall(SYS_ioctl, master, TIOCSTI, &letter); }), EPERM);
  EXPECT_EQ(filtered([&] { return syscall(SYS_ioctl, master, TIOCSTI | 0x100000000ul, &letter); }), EPERM);
  EXPECT_EQ(filtered([&] { return syscall(SYS_ioctl, master, 0x541C, &letter); }), EPERM);
  EXPECT_EQ(filtered([&] { return syscall(SYS_ioctl, master, 0x541C | 0x8000000000000000ul, &letter); }), EPERM);
  // Every neighbour reaches the kernel, which gives its own answer, never the filter's.
  for (unsigned long request = 0x5400; request < 0x5480; ++request) {
    if (request == TIOCSTI || request == 0x541C) continue;
    EXPECT_NE(filtered([&] { return syscall(SYS_ioctl, -1, request, 0) == -1 && errno == EBADF ? 0 : -1; }), EPERM)
        << request;
  }
  close(master);
}

TEST(Filter, DeniesSetIdBits) {
  char path[] = "/tmp/filter-test-XXXXXX";
  int fd = mkstemp(path);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(filtered([&] { return chmod(path, 0755); }), 0);
  EXPECT_EQ(filtered([&] { return chmod(path, 04755); }), EPERM);
  EXPECT_EQ(filtered([&] { return fchmod(fd, 0700); }), 0);
  EXPECT_EQ(filtered([&] { return fchmod(fd, 02700); }), EPERM);
  EXPECT_EQ(filtered([&] { return syscall(SYS_fchmodat, AT_FDCWD, path, 01644); }), 0);
  EXPECT_EQ(filtered([&] { return syscall(SYS_fchmodat, AT_FDCWD, path, 06755); }), EPERM);
  EXPECT_EQ(filtered([&] { return syscall(SYS_openat, AT_FDCWD, path, O_RDWR, 04755); }), 0);
  EXPECT_EQ(filtered([&] { return syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT, 0644); }), 0);
  unlink(path);
  EXPECT_NE(filtered([&] { return syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT, 04755); }), 0);
  EXPECT_NE(filtered([&] { return syscall(SYS_open, path, O_RDWR | O_CREAT, 02755); }), 0);
  EXPECT_NE(filtered([&] { return syscall(SYS_open, "/tmp", O_RDWR | O_TMPFILE, 04755); }), 0);
  EXPECT_EQ(filtered([&] { return syscall(SYS_open, "/tmp", O_RDWR | O_TMPFILE, 0755); }), 0);
  EXPECT_EQ(filtered([&] { return mknod(path, S_IFREG | 04755, 0); }), EPERM);
  EXPECT_EQ(filtered([&] { return syscall(SYS_creat, path, 04755); }), EPERM);
  EXPECT_NE(access(path, F_OK), 0);
  EXPECT_EQ(filtered([&] { return syscall(SYS_creat, path, 0755); }), 0);
  unlink(path);
  close(fd);
}

TEST(Filter, DeniesNamespaces) {
  EXPECT_EQ(filtered([] { return unshare(CLONE_FS); }), 0);
  for (int flag : {CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, 0x80})
    EXPECT_EQ(filtered([=] { return unshare(flag); }), EPERM) << flag;
  EXPECT_EQ(filtered([] { return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0); }), EPERM);
  EXPECT_EQ(filtered([] {
              long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
              if (child == 0) _exit(0);
              return child;
            }),
            0);
  EXPECT_EQ(filtered([] { return syscall(SYS_clone3, nullptr, 0); }), ENOSYS);
  EXPECT_EQ(filtered([] { return setns(-1, CLONE_NEWNET); }), EPERM);
  EXPECT_EQ(filtered([] { return syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, ""); }), EPERM);
}

TEST(Filter, DeniesKernelInterfacesWithAHistory) {
  EXPECT_EQ(filtered([] { return syscall(SYS_bpf, 0, nullptr, 0); }), EPERM);
  EXPECT_EQ(filtered([] { return syscall(SYS_keyctl, 0, -3, 0); }), EPERM);
  EXPECT_EQ(filtered([] { return syscall(SYS_userfaultfd, 0); }), EPERM);
  EXPECT_EQ(filtered([] { return syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0); }), EPERM);
  EXPECT_EQ(filtered([] { return syscall(SYS_pidfd_getfd, -1, 0, 0); }), EPERM);
  EXPECT_EQ(filtered([] { return syscall(5555); }), ENOSYS);
}

}  // namespace
}  // namespace sallyport::launcher
