#include "firewall/attach/holders.h"

#include <dirent.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace sallyport::firewall {

namespace {

constexpr std::uint64_t kPower = (1ULL << CAP_NET_ADMIN) | (1ULL << CAP_SYS_ADMIN);

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

Result<std::vector<pid_t>> all_processes() {
  std::unique_ptr<DIR, CloseDirectory> directory(::opendir("/proc"));
  if (!directory) return fail_errno("/proc");
  std::vector<pid_t> found;
  while (const dirent* entry = ::readdir(directory.get())) {
    auto number = parse_decimal(entry->d_name);
    if (number && number.value() <= 0x7fffffff) found.push_back(static_cast<pid_t>(number.value()));
  }
  return found;
}

// kUnavailable when the process has ended or is hidden.
Result<ino_t> inode_of_net(const std::string& process) {
  struct stat status{};
  if (::stat(("/proc/" + process + "/net/dev").c_str(), &status) == 0) return status.st_ino;
  return fail(ErrorKind::kUnavailable, "process " + process + " cannot be seen");
}

Result<bool> is_in_ours(pid_t pid) {
  BOOST_OUTCOME_TRY(ino_t own, inode_of_net("thread-self"));
  BOOST_OUTCOME_TRY(ino_t other, inode_of_net(std::to_string(pid)));
  return own == other;
}

// A process into which even root may not look counts as one that has what its status says.
bool is_below(pid_t pid, const sys::NamespaceId& owner) {
  auto user = sys::Namespace::of_process(pid, sys::NamespaceKind::kUser);
  return user && user.value().id() != owner;
}

Result<void> check_process(pid_t pid, const sys::NamespaceId& owner) {
  if (pid == ::getpid() || is_below(pid, owner)) return success();
  BOOST_OUTCOME_TRY(sys::ProcessCredentials credentials, sys::process_credentials(pid));
  if (!has_power(credentials)) return success();
  return fail(ErrorKind::kDenied,
              "process " + std::to_string(pid) +
                  " in it holds or can regain CAP_NET_ADMIN or CAP_SYS_ADMIN, and the namespace has no user namespace "
                  "of its own: drop both (docker: the default set has neither), or give the task a user namespace");
}

}  // namespace

bool has_power(const sys::ProcessCredentials& c) noexcept {
  std::uint64_t held = c.cap_effective | c.cap_permitted | c.cap_inheritable | c.cap_ambient;
  if (!c.no_new_privs) held |= c.cap_bounding;
  return (held & kPower) != 0;
}

Result<void> check_not_of_pid1() {
  BOOST_OUTCOME_TRY(bool is_ours, is_in_ours(1));
  if (!is_ours) return success();
  return fail(ErrorKind::kDenied,
              "it is the network namespace of pid 1, the machine's own (docker: not --network host)");
}

Result<void> check_member(pid_t pid) {
  auto is_ours = is_in_ours(pid);
  if (!is_ours) return fail(ErrorKind::kDenied, is_ours.error().detail);
  if (is_ours.value()) return success();
  return fail(ErrorKind::kDenied,
              "process " + std::to_string(pid) + " is in another network namespace than the one given");
}

Result<void> check_holders(const sys::NamespaceId& owner) {
  BOOST_OUTCOME_TRY(std::vector<pid_t> processes, all_processes());
  for (pid_t pid : processes) {
    auto is_ours = is_in_ours(pid);
    if (!is_ours || !is_ours.value()) continue;  // not here, or gone meanwhile
    auto checked = check_process(pid, owner);
    if (!checked && checked.error().kind != ErrorKind::kUnavailable) return checked;
  }
  return success();
}

}  // namespace sallyport::firewall
