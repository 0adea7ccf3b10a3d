#include "core/sys/privileges.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "core/sys/read_file.h"

namespace sallyport::sys {
namespace {

struct CapFree {
  void operator()(cap_t caps) const noexcept { cap_free(caps); }
};
using Caps = std::unique_ptr<std::remove_pointer_t<cap_t>, CapFree>;

// The last capability the kernel knows: the bounding set answers EINVAL for the next.
bool kernel_knows(int cap) { return prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; }

bool bounding_set_is_empty() {
  for (int cap = 0; kernel_knows(cap); ++cap)
    if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != 0) return false;
  return true;
}

}  // namespace

bool has_capability(int capability) noexcept {
  Caps own(cap_get_proc());
  cap_flag_value_t value = CAP_CLEAR;
  return own && cap_get_flag(own.get(), capability, CAP_EFFECTIVE, &value) == 0 && value == CAP_SET;
}

Result<void> drop_to(User user) {
  if (user.uid == 0 || user.gid == 0 || user.uid == static_cast<uid_t>(-1) || user.gid == static_cast<gid_t>(-1))
    return fail(ErrorKind::kInvalid, "drop_to: not an unprivileged user");
  if (setgroups(0, nullptr) != 0) return fail_errno("setgroups");
  if (setresgid(user.gid, user.gid, user.gid) != 0) return fail_errno("setresgid");
  if (setresuid(user.uid, user.uid, user.uid) != 0) return fail_errno("setresuid");

  uid_t ruid = 0, euid = 0, suid = 0;
  gid_t rgid = 0, egid = 0, sgid = 0;
  if (getresuid(&ruid, &euid, &suid) != 0 || getresgid(&rgid, &egid, &sgid) != 0) return fail_errno("getresuid");
  bool changed = ruid == user.uid && euid == user.uid && suid == user.uid && rgid == user.gid && egid == user.gid &&
                 sgid == user.gid && getgroups(0, nullptr) == 0;
  if (!changed) return fail(ErrorKind::kInternal, "drop_to: the ids are not those asked for");
  // Kept capabilities (SECBIT_KEEP_CAPS and the like) would leave a way back.
  if (setresuid(static_cast<uid_t>(-1), 0, static_cast<uid_t>(-1)) == 0 ||
      setresgid(static_cast<gid_t>(-1), 0, static_cast<gid_t>(-1)) == 0)
    return fail(ErrorKind::kInternal, "drop_to: the way back to root is open");
  return success();
}

Result<void> drop_bounding_set() {
  for (int cap = 0; kernel_knows(cap); ++cap)
    if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0) return fail_errno("PR_CAPBSET_DROP");
  if (!bounding_set_is_empty()) return fail(ErrorKind::kInternal, "the capability bounding set is not empty");
  return success();
}

Result<void> drop_all_capabilities() {
  if (has_capability(CAP_SETPCAP)) {
    BOOST_OUTCOME_TRY(drop_bounding_set());
  }
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return fail_errno("PR_CAP_AMBIENT_CLEAR_ALL");
  Caps none(cap_init());
  if (!none) return fail_errno("cap_init");
  if (cap_set_proc(none.get()) != 0) return fail_errno("capset");

  Caps now(cap_get_proc());
  if (!now) return fail_errno("capget");
  if (cap_compare(now.get(), none.get()) != 0)
    return fail(ErrorKind::kInternal, "capabilities remain after dropping them");
  return success();
}

Result<void> set_no_new_privs() {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail_errno("PR_SET_NO_NEW_PRIVS");
  return success();
}

Result<void> set_not_dumpable() {
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return fail_errno("PR_SET_DUMPABLE");
  return success();
}

Result<ProcessCredentials> process_credentials(pid_t pid) {
  std::string path = "/proc/" + (pid == 0 ? std::string("self") : std::to_string(pid)) + "/status";
  BOOST_OUTCOME_TRY(auto text, read_small_file(path));
  return parse_process_status(text);
}

}  // namespace sallyport::sys
