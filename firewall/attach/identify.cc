#include "firewall/attach/identify.h"

#include <unistd.h>

#include "firewall/attach/holders.h"

namespace sallyport::firewall {

namespace {

Result<void> check_not_ours(const sys::Namespace& netns) {
  BOOST_OUTCOME_TRY(sys::NamespaceId own, sys::current_namespace_id(sys::NamespaceKind::kNetwork));
  if (netns.id() != own) return success();
  return fail(ErrorKind::kDenied, "it is the network namespace that sallyport itself runs in: give the task one of its own "
                                  "(docker run --network none, unshare -n), and start sallyport outside of it");
}

// An ordinary user may not look at pid 1; the machine's own namespace then has an owner that refuses us, see below.
Result<bool> is_known_not_to_be_the_hosts(const sys::Namespace& netns) {
  auto host = sys::pid1_namespace_id(sys::NamespaceKind::kNetwork);
  if (!host) return false;
  if (netns.id() != host.value()) return true;
  return fail(ErrorKind::kDenied, "it is the network namespace of pid 1, the machine's own (docker: not --network host)");
}

}  // namespace

Result<Target> identify(UniqueFd descriptor, pid_t pid) {
  BOOST_OUTCOME_TRY(sys::Namespace netns, sys::Namespace::adopt(std::move(descriptor), sys::NamespaceKind::kNetwork));
  BOOST_OUTCOME_TRY(check_not_ours(netns));
  BOOST_OUTCOME_TRY(bool is_not_the_hosts, is_known_not_to_be_the_hosts(netns));
  auto owner = netns.owner();
  if (!owner) return fail(ErrorKind::kDenied, "its owner is a user namespace outside of ours, so nothing is known of who has power over it");
  BOOST_OUTCOME_TRY(sys::NamespaceId own_user, sys::current_namespace_id(sys::NamespaceKind::kUser));
  const sys::NamespaceId owner_id = owner.value().id();
  bool owner_is_ours = owner_id == own_user || sys::is_initial_user_namespace(owner_id);
  if (owner_is_ours && !is_not_the_hosts) {
    return fail(ErrorKind::kDenied, "it belongs to the machine's own user namespace: only root can attach to it (or make it with a user "
                                    "namespace of its own: unshare -Urn)");
  }
  if (owner_is_ours) {
    BOOST_OUTCOME_TRY(check_holders(netns.id(), owner_id, pid));
  } else if (pid != 0) {
    BOOST_OUTCOME_TRY(check_member(netns.id(), pid));
  }
  return Target{std::move(netns), std::move(owner).value(), owner_is_ours};
}

}  // namespace sallyport::firewall
