#include "core/sys/namespaces.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/base/escape.h"
#include "core/sys/read_file.h"

namespace sallyport::sys {
namespace {

struct KindRow {
  NamespaceKind kind;
  int clone_flag;
  std::string_view name;
};
constexpr auto kKinds = std::to_array<KindRow>({
    {NamespaceKind::kNetwork, CLONE_NEWNET, "net"},
    {NamespaceKind::kUser, CLONE_NEWUSER, "user"},
    {NamespaceKind::kMount, CLONE_NEWNS, "mnt"},
    {NamespaceKind::kPid, CLONE_NEWPID, "pid"},
    {NamespaceKind::kIpc, CLONE_NEWIPC, "ipc"},
    {NamespaceKind::kUts, CLONE_NEWUTS, "uts"},
    {NamespaceKind::kCgroup, CLONE_NEWCGROUP, "cgroup"},
    {NamespaceKind::kTime, 0x80 /* CLONE_NEWTIME */, "time"},
});

const KindRow& row_of(NamespaceKind kind) {
  for (const KindRow& row : kKinds)
    if (row.kind == kind) return row;
  return kKinds[0];
}

std::string path_of(std::string_view process, NamespaceKind kind) {
  return "/proc/" + std::string(process) + "/ns/" + std::string(to_string(kind));
}

Result<bool> has_ended(int pidfd) {
  pollfd wait{pidfd, POLLIN, 0};
  if (poll(&wait, 1, 0) < 0) return fail_errno("poll of a pidfd");
  return (wait.revents & POLLIN) != 0;
}

Result<NamespaceId> id_at(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return fail_errno(path);
  return NamespaceId{status.st_dev, status.st_ino};
}

}  // namespace

std::string_view to_string(NamespaceKind kind) noexcept { return row_of(kind).name; }

Result<Namespace> Namespace::adopt(UniqueFd fd, NamespaceKind kind) {
  struct statfs system = {};
  struct stat status = {};
  if (fstatfs(fd.get(), &system) != 0) return fail_errno("namespace: fstatfs");
  if (system.f_type != NSFS_MAGIC) return fail(ErrorKind::kInvalid, "not a namespace");
  int type = ioctl(fd.get(), NS_GET_NSTYPE);
  if (type < 0) return fail_errno("NS_GET_NSTYPE");
  if (type != row_of(kind).clone_flag)
    return fail(ErrorKind::kInvalid, "not a " + std::string(to_string(kind)) + " namespace");
  if (fstat(fd.get(), &status) != 0) return fail_errno("namespace: fstat");
  return Namespace(std::move(fd), kind, NamespaceId{status.st_dev, status.st_ino});
}

Result<Namespace> Namespace::open(const std::string& path, NamespaceKind kind) {
  // O_NONBLOCK: a FIFO or device under that name must not block us.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd) return fail_errno("namespace " + escape_text(path));
  auto adopted = adopt(std::move(fd), kind);
  if (!adopted) {
    Error error = std::move(adopted).error();
    error.detail = escape_text(path) + ": " + error.detail;
    return fail(std::move(error));
  }
  return adopted;
}

Result<Namespace> Namespace::of_process(pid_t pid, NamespaceKind kind) {
  if (pid <= 0) return fail(ErrorKind::kInvalid, "namespace: not a process number");
  return open(path_of(std::to_string(pid), kind), kind);
}

Result<Namespace> Namespace::of_pidfd(int pidfd, NamespaceKind kind) {
  BOOST_OUTCOME_TRY(auto pid, pid_of_pidfd(pidfd));
  BOOST_OUTCOME_TRY(auto found, of_process(pid, kind));
  // Still there after opening: so the number meant this process all the time.
  BOOST_OUTCOME_TRY(auto ended, has_ended(pidfd));
  if (ended) return fail(ErrorKind::kUnavailable, "namespace: the process has ended");
  return found;
}

Result<Namespace> Namespace::current(NamespaceKind kind) { return open(path_of("thread-self", kind), kind); }

Result<Namespace> Namespace::of_socket(int socket) {
  UniqueFd fd(ioctl(socket, SIOCGSKNS));
  if (!fd) return fail_errno("SIOCGSKNS");
  return adopt(std::move(fd), NamespaceKind::kNetwork);
}

Result<Namespace> Namespace::owner() const {
  UniqueFd fd(ioctl(fd_.get(), NS_GET_USERNS));
  if (!fd) return fail_errno("NS_GET_USERNS");
  return adopt(std::move(fd), NamespaceKind::kUser);
}

Result<uid_t> Namespace::owner_uid() const {
  uid_t uid = 0;
  if (ioctl(fd_.get(), NS_GET_OWNER_UID, &uid) != 0) return fail_errno("NS_GET_OWNER_UID");
  return uid;
}

Result<void> Namespace::enter() const {
  if (setns(fd_.get(), row_of(kind_).clone_flag) != 0)
    return fail_errno("entering a " + std::string(to_string(kind_)) + " namespace");
  return success();
}

Result<NamespaceId> current_namespace_id(NamespaceKind kind) { return id_at(path_of("thread-self", kind)); }

Result<NamespaceId> pid1_namespace_id(NamespaceKind kind) { return id_at(path_of("1", kind)); }

Result<bool> shares_network_namespace(pid_t pid) {
  BOOST_OUTCOME_TRY(auto ours, id_at("/proc/thread-self/net/dev"));
  BOOST_OUTCOME_TRY(auto theirs, id_at("/proc/" + std::to_string(pid) + "/net/dev"));
  return ours == theirs;
}

bool is_initial_user_namespace(NamespaceId id) noexcept {
  return id.inode == 0xEFFFFFFDU;  // PROC_USER_INIT_INO
}

Result<UniqueFd> open_pidfd(pid_t pid) {
  UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (fd) return fd;
  if (errno == ESRCH) return fail(ErrorKind::kUnavailable, "no process " + std::to_string(pid));
  return fail_errno("pidfd_open");
}

Result<pid_t> pid_of_pidfd(int pidfd) {
  BOOST_OUTCOME_TRY(auto text, read_small_file("/proc/self/fdinfo/" + std::to_string(pidfd)));
  constexpr std::string_view kKey = "\nPid:\t";
  std::size_t at = text.find(kKey);
  if (at == std::string::npos) return fail(ErrorKind::kInvalid, "not a pidfd");
  pid_t pid = static_cast<pid_t>(std::atol(text.c_str() + at + kKey.size()));
  if (pid <= 0) return fail(ErrorKind::kUnavailable, "the process of the pidfd has ended");
  return pid;
}

}  // namespace sallyport::sys
