#include "firewall/api/target.h"

namespace sallyport::firewall {

Result<AttachTarget> target_of_pid(pid_t pid) {
  if (pid <= 0) return fail(ErrorKind::kInvalid, "not a process id");
  BOOST_OUTCOME_TRY(UniqueFd process, sys::open_pidfd(pid));
  BOOST_OUTCOME_TRY(sys::Namespace netns, sys::Namespace::of_pidfd(process.get(), sys::NamespaceKind::kNetwork));
  return AttachTarget{std::move(netns), pid};
}

Result<AttachTarget> target_at_path(const std::string& path) {
  BOOST_OUTCOME_TRY(sys::Namespace netns, sys::Namespace::open(path, sys::NamespaceKind::kNetwork));
  return AttachTarget{std::move(netns), 0};
}

}  // namespace sallyport::firewall
