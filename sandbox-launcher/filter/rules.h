// The system-call filter of a task, as a table.
//
// An allow list in the spirit of docker's default. Differences, and why:
//  - sockets are AF_UNIX, and TCP and UDP over AF_INET and AF_INET6: a network namespace does not close AF_VSOCK, and
//  no other family is needed
//    (curl, wget, git, python, node and Java resolve and connect without AF_NETLINK: the C library takes its absence as
//    "both families");
//  - no io_uring, whose operations a filter cannot see;
//  - a file cannot be given set-user-id or set-group-id bits: in a shared directory they would hold on the host;
//  - TIOCSTI and TIOCLINUX are refused, compared on the 32 bits that the kernel looks at;
//  - namespaces cannot be made or entered.
// A refused call that programs probe for gives ENOSYS so that they fall back; a refused call that must not exist inside
// gives EPERM.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace sallyport::launcher {

// True when `(argument & mask) == value`. Masked comparisons only: the kernel takes most of these arguments as 32 bits,
// and a comparison of all 64 could be led astray by noise in the upper half.
struct ArgumentMatch {
  unsigned index = 0;
  std::uint64_t mask = 0;
  std::uint64_t value = 0;
};

struct SyscallRule {
  static constexpr int kAllow = 0;
  std::string_view name;
  int error = kAllow;               // kAllow, or the errno that the call gives
  std::vector<ArgumentMatch> when;  // all must match; empty: always
};

// What a call gives that no rule names.
inline constexpr int kUnknownSyscallError = 38;  // ENOSYS

const std::vector<SyscallRule>& syscall_rules();

// The table as a BPF program for this machine's architecture in a memfd at offset 0; other architectures' calls kill
// the process.
Result<UniqueFd> compile_filter();

}  // namespace sallyport::launcher
