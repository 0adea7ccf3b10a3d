#include "sandbox-launcher/filter/rules.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <initializer_list>

namespace sallyport::launcher {
namespace {

// clang-format off
constexpr std::string_view kAlways[] = {
    // files
    "access", "chdir", "chown", "close", "close_range", "copy_file_range", "dup", "dup2", "dup3", "faccessat",
    "faccessat2", "fadvise64", "fallocate", "fchdir", "fchown", "fchownat", "fcntl", "fdatasync", "fgetxattr",
    "flistxattr", "flock", "fremovexattr", "fsetxattr", "fstat", "fstatfs", "fsync", "ftruncate", "futimesat", "getcwd",
    "getdents", "getdents64", "getxattr", "inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch",
    "io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_setup", "io_submit", "lchown", "lgetxattr", "link",
    "linkat", "listxattr", "llistxattr", "lremovexattr", "lseek", "lsetxattr", "lstat", "mkdir", "mkdirat",
    "newfstatat", "pread64", "preadv", "preadv2", "pwrite64", "pwritev", "pwritev2", "read", "readahead", "readlink",
    "readlinkat", "readv", "removexattr", "rename", "renameat", "renameat2", "rmdir", "sendfile", "setxattr", "splice",
    "stat", "statfs", "statx", "symlink", "symlinkat", "sync", "sync_file_range", "syncfs", "tee", "truncate", "umask",
    "unlink", "unlinkat", "utime", "utimensat", "utimes", "vmsplice", "write", "writev",
    "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
    // memory
    "brk", "madvise", "membarrier", "memfd_create", "mincore", "mlock", "mlock2", "mlockall", "mmap", "mprotect",
    "mremap", "msync", "munlock", "munlockall", "munmap", "pkey_alloc", "pkey_free", "pkey_mprotect",
    "process_mrelease", "remap_file_pages",
    // processes, signals, limits
    "alarm", "arch_prctl", "capget", "capset", "execve", "execveat", "exit", "exit_group", "fork", "futex",
    "futex_waitv", "get_robust_list", "get_thread_area", "getcpu", "getegid", "geteuid", "getgid", "getgroups",
    "getpgid", "getpgrp", "getpid", "getppid", "getpriority", "getresgid", "getresuid", "getrlimit", "getrusage",
    "getsid", "gettid", "getuid", "ioprio_get", "ioprio_set", "kill", "modify_ldt", "pause", "pidfd_open",
    "pidfd_send_signal", "prctl", "prlimit64", "process_vm_readv", "process_vm_writev", "ptrace", "restart_syscall",
    "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
    "rt_sigtimedwait", "rt_tgsigqueueinfo", "sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity",
    "sched_getattr", "sched_getparam", "sched_getscheduler", "sched_rr_get_interval", "sched_setaffinity",
    "sched_setattr", "sched_setparam", "sched_setscheduler", "sched_yield", "seccomp", "set_robust_list",
    "set_thread_area", "set_tid_address", "setfsgid", "setfsuid", "setgid", "setgroups", "setpgid", "setpriority",
    "setregid", "setresgid", "setresuid", "setreuid", "setrlimit", "setsid", "setuid", "sigaltstack", "tgkill",
    "tkill", "uname", "vfork", "wait4", "waitid",
    // time
    "clock_getres", "clock_gettime", "clock_nanosleep", "getitimer", "gettimeofday", "nanosleep", "setitimer", "time",
    "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime", "timerfd_create",
    "timerfd_gettime", "timerfd_settime", "times", "sysinfo",
    // waiting
    "epoll_create", "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_pwait", "epoll_pwait2", "epoll_wait",
    "epoll_wait_old", "eventfd", "eventfd2", "poll", "ppoll", "pselect6", "select", "signalfd", "signalfd4",
    // between processes
    "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink", "msgctl", "msgget",
    "msgrcv", "msgsnd", "pipe", "pipe2", "semctl", "semget", "semop", "semtimedop", "shmat", "shmctl", "shmdt",
    "shmget",
    // sockets that exist
    "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recvfrom",
    "recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown", "getrandom",
};

// They exist in the kernel, and a task that calls them is to be told no, not that they are missing.
constexpr std::string_view kRefused[] = {
    "acct", "add_key", "bpf", "chroot", "clock_adjtime", "clock_settime", "adjtimex", "settimeofday", "create_module",
    "delete_module", "fanotify_init", "finit_module", "fsconfig", "fsmount", "fsopen", "fspick", "get_kernel_syms",
    "init_module", "ioperm", "iopl", "kcmp", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie", "mount",
    "mount_setattr", "move_mount", "move_pages", "migrate_pages", "name_to_handle_at", "nfsservctl",
    "open_by_handle_at", "open_tree", "perf_event_open", "pidfd_getfd", "pivot_root", "process_madvise", "quotactl",
    "quotactl_fd", "reboot", "request_key", "setdomainname", "sethostname", "setns", "swapoff", "swapon", "sysfs",
    "syslog", "umount", "umount2", "uselib", "userfaultfd", "ustat", "vhangup", "vm86", "vm86old",
};
// clang-format on

constexpr std::uint64_t kSocketTypeMask = 0xf;  // below SOCK_NONBLOCK and SOCK_CLOEXEC
constexpr std::uint64_t kSetIdBits = 06000;
constexpr std::uint64_t kInt =
    0xffffffff;  // the kernel takes these arguments as int: the upper half is the caller's noise

class Table {
 public:
  void allow(std::string_view name, std::vector<ArgumentMatch> when = {}) {
    rules_.push_back({name, SyscallRule::kAllow, std::move(when)});
  }
  void refuse(std::string_view name, int error, std::vector<ArgumentMatch> when = {}) {
    rules_.push_back({name, error, std::move(when)});
  }
  std::vector<SyscallRule> take() { return std::move(rules_); }

 private:
  std::vector<SyscallRule> rules_;
};

ArgumentMatch is(unsigned index, std::uint64_t value, std::uint64_t mask = kInt) { return {index, mask, value}; }

void sockets(Table& table) {
  for (std::string_view name : {"socket", "socketpair"})
    for (int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET})
      table.allow(name, {is(0, AF_UNIX), is(1, static_cast<unsigned>(type), kSocketTypeMask)});
  // Protocols by number: 0 (the type's own), 6 TCP, 17 UDP. Not ICMP, SCTP, MPTCP, SMC.
  for (int family : {AF_INET, AF_INET6}) {
    auto f = static_cast<unsigned>(family);
    for (unsigned protocol : {0u, 6u})
      table.allow("socket", {is(0, f), is(1, SOCK_STREAM, kSocketTypeMask), is(2, protocol)});
    for (unsigned protocol : {0u, 17u})
      table.allow("socket", {is(0, f), is(1, SOCK_DGRAM, kSocketTypeMask), is(2, protocol)});
    for (unsigned type : {3u, 4u, 6u, 10u}) table.refuse("socket", EPERM, {is(0, f), is(1, type, kSocketTypeMask)});
  }
  for (unsigned family : {0u, 3u, 4u, 5u, 6u, 7u, 8u, 9u}) table.refuse("socket", EAFNOSUPPORT, {is(0, family)});
  // Families from 11 up, by their bits; each half of the noise belongs to no family at all.
  for (unsigned bit = 4; bit < 32; ++bit) table.refuse("socket", EAFNOSUPPORT, {is(0, 1ull << bit, 1ull << bit)});
  for (unsigned family = 11; family < 16; ++family) table.refuse("socket", EAFNOSUPPORT, {is(0, family)});
}

// `when` for "the low 32 bits of the argument are neither TIOCSTI nor TIOCLINUX", as rules that each allow.
// One masked comparison an argument is all a filter has, so: some bit on which both agree differs, or the bits on which
// they differ have the pattern of neither.
void terminal_requests(Table& table) {
  constexpr std::uint64_t kA = TIOCSTI, kB = 0x541C;  // TIOCLINUX
  constexpr std::uint64_t kDiffer = kA ^ kB;
  for (unsigned bit = 0; bit < 32; ++bit) {
    std::uint64_t mask = 1ull << bit;
    if ((kDiffer & mask) == 0) table.allow("ioctl", {is(1, ~kA & mask, mask)});
  }
  for (std::uint64_t pattern = 0; pattern <= kDiffer; ++pattern)
    if ((pattern & ~kDiffer) == 0 && pattern != (kA & kDiffer) && pattern != (kB & kDiffer))
      table.allow("ioctl", {is(1, pattern, kDiffer)});
  table.refuse("ioctl", EPERM, {is(1, kA)});
  table.refuse("ioctl", EPERM, {is(1, kB)});
}

void set_id_bits(Table& table) {
  struct Mode {
    std::string_view name;
    unsigned index;
  };
  for (auto [name, index] : {Mode{"chmod", 1}, Mode{"fchmod", 1}, Mode{"fchmodat", 2}, Mode{"creat", 1},
                             Mode{"mknod", 1}, Mode{"mknodat", 2}}) {
    table.allow(name, {is(index, 0, kSetIdBits)});
    for (std::uint64_t bit : {04000ull, 02000ull}) table.refuse(name, EPERM, {is(index, bit, bit)});
  }
  // open looks at the mode only when it may create; __O_TMPFILE is one bit of O_TMPFILE.
  constexpr std::uint64_t kCreates = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
  for (auto [name, flags] : {Mode{"open", 1}, Mode{"openat", 2}}) {
    table.allow(name, {is(flags, 0, kCreates)});
    table.allow(name, {is(flags + 1, 0, kSetIdBits)});
  }
  // openat2 has both in memory: left out, programs fall back to openat.
}

void namespaces(Table& table) {
  constexpr std::uint64_t kNew =
      CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  constexpr std::uint64_t kNewTime = 0x80;  // CLONE_NEWTIME; part of the exit signal in clone's flags
#if defined(__s390__) || defined(__s390x__)
  constexpr unsigned kCloneFlags = 1;
#else
  constexpr unsigned kCloneFlags = 0;
#endif
  table.allow("clone", {is(kCloneFlags, 0, kNew)});
  table.allow("unshare", {is(0, 0, kNew | kNewTime)});
  for (unsigned bit = 0; bit < 32; ++bit) {
    std::uint64_t mask = 1ull << bit;
    if ((kNew & mask) != 0) table.refuse("clone", EPERM, {is(kCloneFlags, mask, mask)});
    if (((kNew | kNewTime) & mask) != 0) table.refuse("unshare", EPERM, {is(0, mask, mask)});
  }
  // clone3 has its flags in memory: left out, the C library falls back to clone.
}

std::vector<SyscallRule> make_rules() {
  Table table;
  for (auto name : kAlways) table.allow(name);
  for (auto name : kRefused) table.refuse(name, EPERM);
  sockets(table);
  terminal_requests(table);
  set_id_bits(table);
  namespaces(table);
  for (std::uint64_t persona : {0x0ull, 0x8ull, 0x20000ull, 0x20008ull, 0xffffffffull})
    table.allow("personality", {is(0, persona)});
  return table.take();
}

}  // namespace

const std::vector<SyscallRule>& syscall_rules() {
  static const std::vector<SyscallRule> rules = make_rules();
  return rules;
}

}  // namespace sallyport::launcher
