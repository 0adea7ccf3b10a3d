// Giving privileges up, and looking at what a process still holds.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "core/base/result.h"

namespace sallyport::sys {

struct User {
  uid_t uid = 0;
  gid_t gid = 0;
  friend bool operator==(const User&, const User&) = default;
};

// The users of our own processes when started by root: above what systemd and shadow hand out, owned by nobody.
inline constexpr User kProxyUser{1879048193, 1879048193};
inline constexpr User kResolverUser{1879048194, 1879048194};
inline constexpr User kAuditUser{1879048195, 1879048195};

// Becomes `user` for good: no supplementary groups, all of real, effective and saved ids. Verifies the ids and that the
// way back to uid 0 is shut. Refuses uid 0 and gid 0 (kInvalid). Needs CAP_SETUID and CAP_SETGID. Clears
// PR_SET_PDEATHSIG.
Result<void> drop_to(User user);

// Empties the effective, permitted, inheritable and ambient sets, and the bounding set while CAP_SETPCAP is held.
// Verified. Of the calling thread only: call before other threads start.
Result<void> drop_all_capabilities();
// The bounding set alone; kDenied without CAP_SETPCAP.
Result<void> drop_bounding_set();

// Children and exec cannot gain privileges any more.
Result<void> set_no_new_privs();

// No core dumps, no ptrace or /proc/PID/mem by processes of the same user.
Result<void> set_not_dumpable();

// What /proc/PID/status says. `seccomp` is 0 none, 1 strict, 2 filter.
struct ProcessCredentials {
  pid_t pid = 0;
  pid_t parent = 0;
  uid_t real_uid = 0, effective_uid = 0, saved_uid = 0;
  gid_t real_gid = 0, effective_gid = 0, saved_gid = 0;
  bool supplementary_groups = false;  // any at all
  std::uint64_t cap_inheritable = 0, cap_permitted = 0, cap_effective = 0, cap_bounding = 0, cap_ambient = 0;
  bool no_new_privs = false;
  int seccomp = 0;
  int threads = 0;
};

// Reads it for `pid` (0: the caller). kUnavailable when there is no such process.
Result<ProcessCredentials> process_credentials(pid_t pid);
// The parser of it, apart; trusts the kernel's form but fails (kInvalid) when a line it needs is missing or odd.
Result<ProcessCredentials> parse_process_status(std::string_view text);

// Whether the calling thread holds CAP_… in effect.
bool has_capability(int capability) noexcept;

// Whether drop_to(user) can work: the caller is root and its user namespace has such a user. False for the root of
// `unshare -Ur` and of rootless containers, whose daemons are confined as an ordinary user's are (Confinement::user
// empty).
Result<bool> may_become(User user);

// True when the caller is in the initial user namespace (its uid map is the identity over all ids).
Result<bool> in_initial_user_namespace();

}  // namespace sallyport::sys
