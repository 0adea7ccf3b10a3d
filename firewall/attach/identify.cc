#include "firewall/attach/identify.h"

#include "firewall/attach/holders.h"

namespace sallyport::firewall {

Result<Target> identify(UniqueFd descriptor) {
  BOOST_OUTCOME_TRY(sys::Namespace netns, sys::Namespace::adopt(std::move(descriptor), sys::NamespaceKind::kNetwork));
  BOOST_OUTCOME_TRY(sys::NamespaceId own, sys::current_namespace_id(sys::NamespaceKind::kNetwork));
  if (netns.id() == own) {
    return fail(ErrorKind::kDenied,
                "it is the network namespace that sallyport itself runs in: give the task one of its own "
                "(docker run --network none, unshare -n), and start sallyport outside of it");
  }
  auto owner = netns.owner();
  if (!owner)
    return fail(ErrorKind::kDenied,
                "its owner is a user namespace outside of ours, so nothing is known of who has power over it");
  BOOST_OUTCOME_TRY(sys::NamespaceId own_user, sys::current_namespace_id(sys::NamespaceKind::kUser));
  const sys::NamespaceId owner_id = owner.value().id();
  bool owner_is_ours = owner_id == own_user || sys::is_initial_user_namespace(owner_id);
  return Target{std::move(netns), std::move(owner).value(), owner_is_ours};
}

Result<void> check_inhabitants(const Target& target, pid_t pid) {
  BOOST_OUTCOME_TRY(check_not_of_pid1());
  if (pid != 0) {
    BOOST_OUTCOME_TRY(check_member(pid));
  }
  if (!target.owner_is_ours) return success();
  return check_holders(target.owner.id());
}

}  // namespace sallyport::firewall
