// The groups of SyscallFilter: which calls each task of a daemon needs.
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "core/sys/seccomp.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SALLYPORT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define SALLYPORT_TSAN 1
#endif
#endif

namespace sallyport::sys {
namespace {

constexpr std::uint64_t kInt = 0xffffffff;

// glibc's pthread_create, exactly: no flag more, so no process and no namespace.
constexpr std::uint64_t kThreadFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND |
                                       CLONE_THREAD | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

struct Option {
  int level;
  int name;
};
constexpr auto kSettableOptions = std::to_array<Option>({
    {SOL_SOCKET, SO_KEEPALIVE},
    {SOL_SOCKET, SO_LINGER},
    {SOL_SOCKET, SO_SNDBUF},
    {SOL_SOCKET, SO_RCVBUF},
    {SOL_SOCKET, SO_RCVLOWAT},
    {SOL_SOCKET, SO_REUSEADDR},
    {SOL_SOCKET, SO_PRIORITY},
    {IPPROTO_TCP, TCP_NODELAY},
    {IPPROTO_TCP, TCP_CORK},
    {IPPROTO_TCP, TCP_QUICKACK},
    {IPPROTO_TCP, TCP_KEEPIDLE},
    {IPPROTO_TCP, TCP_KEEPINTVL},
    {IPPROTO_TCP, TCP_KEEPCNT},
    {IPPROTO_TCP, TCP_USER_TIMEOUT},
    {IPPROTO_TCP, TCP_NOTSENT_LOWAT},
    {IPPROTO_TCP, TCP_SYNCNT},
    {IPPROTO_TCP, TCP_DEFER_ACCEPT},
    {IPPROTO_TCP, 30 /* TCP_FASTOPEN_CONNECT */},
    {IPPROTO_IP, IP_PKTINFO},
    {IPPROTO_IP, IP_RECVORIGDSTADDR},
    {IPPROTO_IP, IP_RECVERR},
    {IPPROTO_IP, IP_FREEBIND},
    {IPPROTO_IP, IP_MTU_DISCOVER},
    {IPPROTO_IP, IP_TOS},
    {IPPROTO_IP, IP_TTL},
    {IPPROTO_IP, 24 /* IP_BIND_ADDRESS_NO_PORT */},
    {IPPROTO_IPV6, IPV6_V6ONLY},
    {IPPROTO_IPV6, IPV6_RECVPKTINFO},
    {IPPROTO_IPV6, 74 /* IPV6_RECVORIGDSTADDR */},
    {IPPROTO_IPV6, IPV6_RECVERR},
    {IPPROTO_IPV6, 78 /* IPV6_FREEBIND */},
    {IPPROTO_IPV6, IPV6_MTU_DISCOVER},
    {IPPROTO_IPV6, IPV6_TCLASS},
    {IPPROTO_IPV6, IPV6_UNICAST_HOPS},
});

}  // namespace

// The kernel takes only the low half of an int argument.
SyscallFilter::Condition SyscallFilter::is(std::uint8_t argument, int value) {
  return {argument, Condition::Test::kMaskedEquals, kInt, static_cast<std::uint32_t>(value)};
}

SyscallFilter& SyscallFilter::event_loop() {
  using Test = Condition::Test;
  allow_all({"read", "readv", "write", "writev", "pread64", "preadv", "close", "lseek", "fstat", "dup"});
  allow_all({"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "select",
             "pselect6", "timerfd_create", "timerfd_settime", "timerfd_gettime", "eventfd2", "signalfd4"});
  allow_all({"clock_gettime", "clock_getres", "gettimeofday", "time", "nanosleep", "clock_nanosleep", "getrandom"});
  allow_all({"futex", "sched_yield", "sched_getaffinity", "getcpu", "set_robust_list", "rseq", "membarrier",
             "restart_syscall"});
  allow_all({"munmap", "brk", "mremap", "madvise", "sysinfo", "getrusage"});
  allow_all({"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "exit", "exit_group"});
  allow_all({"getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid"});
  allow_if("mmap", {{2, Test::kMaskedEquals, PROT_EXEC, 0}});
  allow_if("mprotect", {{2, Test::kMaskedEquals, PROT_EXEC, 0}});
  allow_if("tgkill", {{0, Test::kIsOwnPid, kInt, 0}});  // abort()
  allow_if("prctl", {is(0, PR_SET_NAME)});
  // Reading limits (getrlimit): of oneself, with no new value.
  allow_if("prlimit64", {is(0, 0), {2, Test::kEquals, 0, 0}});
  // fstat of glibc 2.33 and later.
  allow_if("newfstatat", {{3, Test::kMaskedEquals, AT_EMPTY_PATH, AT_EMPTY_PATH}});
  for (int command : {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC}) allow_if("fcntl", {is(1, command)});
  for (int request : {FIONBIO, FIONREAD, TCGETS})  // TCGETS: isatty() of a log
    allow_if("ioctl", {is(1, request)});
  allow_for_sanitizers();
  return *this;
}

SyscallFilter& SyscallFilter::threads() {
  allow_if("clone", {{0, Condition::Test::kEquals, 0, kThreadFlags}});
  refuse("clone3", ENOSYS);  // its arguments are in memory, out of a filter's sight; glibc then uses clone
  return *this;
}

SyscallFilter& SyscallFilter::sockets_inet() {
  using Test = Condition::Test;
  constexpr std::uint64_t kKind = kInt & ~static_cast<std::uint64_t>(SOCK_CLOEXEC | SOCK_NONBLOCK);
  for (int family : {AF_INET, AF_INET6})
    for (auto [kind, protocol] : std::initializer_list<std::pair<std::uint64_t, int>>{
             {SOCK_STREAM, 0}, {SOCK_STREAM, IPPROTO_TCP}, {SOCK_DGRAM, 0}, {SOCK_DGRAM, IPPROTO_UDP}})
      allow_if("socket", {is(0, family), {1, Test::kMaskedEquals, kKind, kind}, is(2, protocol)});
  allow_all({"connect", "accept4", "accept", "getsockname", "getpeername", "shutdown", "sendto", "recvfrom", "sendmsg",
             "recvmsg", "sendmmsg", "recvmmsg"});
  allow_socket_options();
  return *this;
}

void SyscallFilter::allow_socket_options() {
  for (int level : std::initializer_list<int>{SOL_SOCKET, IPPROTO_TCP, IPPROTO_IP, IPPROTO_IPV6})
    allow_if("getsockopt", {is(1, level)});
  for (const Option& option : kSettableOptions) allow_if("setsockopt", {is(1, option.level), is(2, option.name)});
}

SyscallFilter& SyscallFilter::splice() {
  using Test = Condition::Test;
  allow_if("pipe2", {is(1, O_CLOEXEC | O_NONBLOCK)});
  // Streams only: no offset of either side.
  allow_if("splice", {{1, Test::kEquals, 0, 0}, {3, Test::kEquals, 0, 0}, is(5, SPLICE_F_MOVE | SPLICE_F_NONBLOCK)});
  for (int command : {F_SETPIPE_SZ, F_GETPIPE_SZ}) allow_if("fcntl", {is(1, command)});
  return *this;
}

SyscallFilter& SyscallFilter::append_files() {
  allow_all({"pwrite64", "pwritev", "pwritev2", "fdatasync", "fsync", "sync_file_range", "fallocate", "ftruncate"});
  return *this;
}

SyscallFilter& SyscallFilter::open_files() {
  allow_all({"openat"});
  return *this;
}

SyscallFilter& SyscallFilter::receive_descriptors() {
  allow_all({"sendmsg", "recvmsg", "sendto", "recvfrom", "shutdown", "getsockname", "getpeername"});
  allow_if("getsockopt", {is(1, SOL_SOCKET)});
  return *this;
}

SyscallFilter& SyscallFilter::shared_memory() {
  allow_all({"memfd_create", "ftruncate"});
  for (int command : {F_ADD_SEALS, F_GET_SEALS}) allow_if("fcntl", {is(1, command)});
  return *this;
}

SyscallFilter& SyscallFilter::refuse_file_lookups() {
  for (std::string_view name : {"open", "openat", "stat", "lstat", "statx", "access", "faccessat", "faccessat2",
                                "readlink", "readlinkat", "statfs"})
    refuse(name, EACCES);
  return *this;
}

SyscallFilter& SyscallFilter::allow(std::string_view name) {
  allow_all({name});
  return *this;
}

void SyscallFilter::allow_for_sanitizers() {
#if defined(SALLYPORT_ASAN) || defined(SALLYPORT_TSAN)
  allow_all({"mincore", "uname", "pipe2"});  // shadow memory and reports; a vptr check reads memory through a pipe
#endif
#if defined(SALLYPORT_TSAN)
  allow_all({"clone", "personality", "mmap", "mprotect", "prctl"});
#endif
}

}  // namespace sallyport::sys
