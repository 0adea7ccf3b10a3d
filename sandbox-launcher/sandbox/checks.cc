#include "sandbox-launcher/sandbox/checks.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "core/base/escape.h"
#include "core/base/unique_fd.h"
#include "sandbox-launcher/oci/cgroup.h"
#include "sandbox-launcher/sandbox/program.h"

namespace sallyport::launcher {
namespace {

using State = Check::State;

Check program(const char* name, bool needed, Deadline deadline) {
  State missing = needed ? State::kFailed : State::kWarning;
  auto path = find_program(name);
  if (!path) return {name, missing, path.error().detail};
  auto version = program_version(path.value(), deadline);
  if (!version) return {name, missing, version.error().detail};
  return {name, State::kOk, version.value() + " (" + path.value() + ")"};
}

// 0, or the errno with which a child could not make the namespaces.
int try_namespaces(int flags) {
  pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) _exit(unshare(flags) == 0 ? 0 : errno & 0x7f);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINVAL;
}

Check user_namespaces() {
  int code = try_namespaces(CLONE_NEWUSER | CLONE_NEWNET);
  if (code == 0) return {"user namespaces", State::kOk, "can be made by this user"};
  return {"user namespaces", State::kFailed,
          Error::from_errno("cannot be made by this user", code).detail +
              "; look at user.max_user_namespaces, kernel.unprivileged_userns_clone and AppArmor"};
}

Check cgroups(bool root) {
  using Version = CgroupSupport::Version;
  auto support = cgroup_support();
  auto text = [](Version v) { return v == Version::kNone ? "none" : v == Version::kV1 ? "version 1" : "version 2"; };
  std::string detail = std::string("memory: ") + text(support.memory) + ", pids: " + text(support.pids);
  if (!root)
    return {"cgroup controllers", State::kWarning,
            detail +
                "; an ordinary user's limits hold for each process (RLIMIT_DATA) and for the user namespace "
                "(RLIMIT_NPROC)"};
  bool both = support.memory != Version::kNone && support.pids != Version::kNone;
  return {"cgroup controllers", both ? State::kOk : State::kWarning, detail};
}

// The call itself is what is asked for; which file systems take an id map shows when one is mounted.
Check idmapped_mounts(bool root) {
  if (!root) return {"idmapped mounts", State::kOk, "not needed: an ordinary user's workspace keeps its owner"};
  long result = syscall(SYS_mount_setattr, -1, "", AT_EMPTY_PATH, nullptr, 0);
  if (result < 0 && errno == ENOSYS)
    return {"idmapped mounts", State::kFailed, "Linux 5.12 or later is needed for --workspace as root"};
  return {"idmapped mounts", State::kOk,
          "mount_setattr is there; a workspace needs a file system that takes an id map (ext4, xfs, btrfs, tmpfs)"};
}

Check landlock() {
  long version = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return {"landlock", State::kWarning, "not enabled in this kernel"};
  return {"landlock", State::kOk, "version " + std::to_string(version)};
}

}  // namespace

std::vector<Check> sandbox_checks() {
  Deadline deadline = Deadline::after(std::chrono::milliseconds(1800));
  bool root = geteuid() == 0;
  return {program("runc", root, deadline),
          program("bwrap", !root, deadline),
          user_namespaces(),
          cgroups(root),
          idmapped_mounts(root),
          landlock()};
}

}  // namespace sallyport::launcher
