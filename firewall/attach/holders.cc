#include "firewall/attach/holders.h"

#include <dirent.h>
#include <linux/capability.h>

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

Result<sys::NamespaceId> namespace_of(pid_t pid, sys::NamespaceKind kind) {
  BOOST_OUTCOME_TRY(sys::Namespace opened, sys::Namespace::of_process(pid, kind));
  return opened.id();
}

Result<void> check_process(pid_t pid, const sys::NamespaceId& owner) {
  BOOST_OUTCOME_TRY(sys::NamespaceId user, namespace_of(pid, sys::NamespaceKind::kUser));
  if (user != owner) return success();  // below the owner: its capabilities do not count over the namespace
  BOOST_OUTCOME_TRY(sys::ProcessCredentials credentials, sys::process_credentials(pid));
  if (!has_power(credentials)) return success();
  return fail(ErrorKind::kDenied, "process " + std::to_string(pid) +
                                      " in it holds or can regain CAP_NET_ADMIN or CAP_SYS_ADMIN, and the namespace has no user namespace "
                                      "of its own: drop both (docker: the default set has neither), or give the task a user namespace");
}

}  // namespace

bool has_power(const sys::ProcessCredentials& c) noexcept {
  std::uint64_t held = c.cap_effective | c.cap_permitted | c.cap_inheritable | c.cap_ambient;
  if (!c.no_new_privs) held |= c.cap_bounding;
  return (held & kPower) != 0;
}

Result<void> check_member(const sys::NamespaceId& netns, pid_t pid) {
  auto found = namespace_of(pid, sys::NamespaceKind::kNetwork);
  if (!found) return fail(ErrorKind::kDenied, "process " + std::to_string(pid) + " cannot be looked at: " + found.error().detail);
  if (found.value() == netns) return success();
  return fail(ErrorKind::kDenied, "process " + std::to_string(pid) + " is in another network namespace than the one given");
}

Result<void> check_holders(const sys::NamespaceId& netns, const sys::NamespaceId& owner, pid_t pid) {
  if (pid != 0) {
    BOOST_OUTCOME_TRY(check_member(netns, pid));
    BOOST_OUTCOME_TRY(check_process(pid, owner));
  }
  BOOST_OUTCOME_TRY(std::vector<pid_t> processes, all_processes());
  for (pid_t other : processes) {
    auto seen = namespace_of(other, sys::NamespaceKind::kNetwork);
    // Gone meanwhile, a zombie, or not for us to see: none of them can be looked at.
    if (!seen || seen.value() != netns) continue;
    auto checked = check_process(other, owner);
    if (!checked && checked.error().kind != ErrorKind::kUnavailable) return checked;
  }
  return success();
}

}  // namespace sallyport::firewall
