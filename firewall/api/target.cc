#include "firewall/api/target.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/escape.h"

namespace sallyport::firewall {

namespace {

// Looks at the path without opening what it names, then opens exactly what was looked at.
Result<UniqueFd> open_netns(const std::string& path) {
  UniqueFd seen(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!seen) return fail_errno("network namespace " + escape_text(path));
  struct statfs kind{};
  if (::fstatfs(seen.get(), &kind) != 0) return fail_errno("network namespace " + escape_text(path));
  if (kind.f_type != NSFS_MAGIC) return fail(ErrorKind::kInvalid, escape_text(path) + " is not a namespace");
  UniqueFd netns(::open(("/proc/self/fd/" + std::to_string(seen.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (!netns) return fail_errno("network namespace " + escape_text(path));
  if (::ioctl(netns.get(), NS_GET_NSTYPE) != CLONE_NEWNET) {
    return fail(ErrorKind::kInvalid, escape_text(path) + " is a namespace, but not a network namespace");
  }
  return netns;
}

}  // namespace

Result<AttachTarget> target_of_pid(pid_t pid) {
  if (pid <= 0) return fail(ErrorKind::kInvalid, "not a process id");
  UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return fail(ErrorKind::kUnavailable, "there is no process " + std::to_string(pid));
  BOOST_OUTCOME_TRY(UniqueFd netns, open_netns("/proc/" + std::to_string(pid) + "/ns/net"));
  pollfd ended{process.get(), POLLIN, 0};
  if (::poll(&ended, 1, 0) != 0) return fail(ErrorKind::kUnavailable, "process " + std::to_string(pid) + " has ended");
  return AttachTarget{std::move(netns), pid};
}

Result<AttachTarget> target_at_path(const std::string& path) {
  BOOST_OUTCOME_TRY(UniqueFd netns, open_netns(path));
  return AttachTarget{std::move(netns), 0};
}

}  // namespace sallyport::firewall
