#include "core/sys/empty_root.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "core/sys/read_file.h"

namespace sallyport::sys {
namespace {

// A directory that is always there; what is mounted on it is covered only in our own namespace.
constexpr const char* kMountPoint = "/proc";

Result<void> verify_empty_root() {
  // "/.." is where something mounted over the root shows: the old one, were it not detached.
  for (const char* path : {"/", "/.."}) {
    struct statfs root = {};
    if (statfs(path, &root) != 0) return fail_errno("statfs of the root");
    if (root.f_type != TMPFS_MAGIC || (root.f_flags & ST_RDONLY) == 0 || root.f_ffree != 0)
      return fail(ErrorKind::kInternal, "the root directory is not the empty one");
  }
  return success();
}

// /proc/self/*_map belongs to root while the process is not dumpable.
class DumpableForAMoment {
 public:
  DumpableForAMoment() : previous_(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)) {
    if (previous_ != 1) prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  }
  ~DumpableForAMoment() {
    if (previous_ != 1) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  }
  DumpableForAMoment(const DumpableForAMoment&) = delete;
  DumpableForAMoment& operator=(const DumpableForAMoment&) = delete;

 private:
  int previous_;
};

Result<void> map_own_ids(uid_t uid, gid_t gid) {
  DumpableForAMoment dumpable;
  BOOST_OUTCOME_TRY(write_small_file("/proc/self/setgroups", "deny"));
  auto identity = [](auto id) { return std::to_string(id) + " " + std::to_string(id) + " 1\n"; };
  BOOST_OUTCOME_TRY(write_small_file("/proc/self/uid_map", identity(uid)));
  return write_small_file("/proc/self/gid_map", identity(gid));
}

}  // namespace

Result<void> enter_empty_root() {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return fail_errno("making mounts private");
  unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;
  if (mount("empty", kMountPoint, "tmpfs", flags, "mode=0555,size=4096,nr_inodes=1") != 0)
    return fail_errno("mounting an empty tmpfs");
  if (chdir(kMountPoint) != 0) return fail_errno("chdir to the empty root");
  // Root and old root are stacked on one directory: the old one is on top, and is what "." then unmounts.
  if (syscall(SYS_pivot_root, ".", ".") != 0) return fail_errno("pivot_root");
  if (umount2(".", MNT_DETACH) != 0) return fail_errno("detaching the old root");
  if (chdir("/") != 0) return fail_errno("chdir /");
  return verify_empty_root();
}

Result<void> unshare_user_and_mounts() {
  uid_t uid = geteuid();
  gid_t gid = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
    int code = errno;
    if (code != EPERM && code != EACCES && code != ENOSPC && code != EUSERS && code != EINVAL && code != ENOSYS)
      return fail(Error::from_errno("unshare of user and mount namespace", code));
    Error error = Error::from_errno("user namespaces are not available to this user", code);
    error.kind = ErrorKind::kDenied;
    error.detail += " (see user.max_user_namespaces, kernel.unprivileged_userns_clone, AppArmor)";
    return fail(std::move(error));
  }
  return map_own_ids(uid, gid);
}

}  // namespace sallyport::sys
