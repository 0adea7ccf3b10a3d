#include "sandbox-launcher/sandbox/verify.h"

#include <string>

#include "core/sys/namespaces.h"
#include "core/sys/privileges.h"

namespace sallyport::launcher {

Result<void> verify_confined(pid_t pid, std::uint32_t host_uid) {
  auto fault = [](const std::string& what) {
    return fail(ErrorKind::kInternal, "the sandbox is not as it must be: " + what);
  };
  BOOST_OUTCOME_TRY(auto held, sys::process_credentials(pid));
  for (uid_t uid : {held.real_uid, held.effective_uid, held.saved_uid})
    if (uid != host_uid)
      return fault("it runs as uid " + std::to_string(uid) + " of the host, not " + std::to_string(host_uid));
  if ((held.cap_effective | held.cap_permitted | held.cap_inheritable | held.cap_ambient) != 0)
    return fault("it holds capabilities");
  if (!held.no_new_privs) return fault("it could gain privileges");
  if (held.seccomp != 2) return fault("it has no system-call filter");
  using Kind = sys::NamespaceKind;
  for (Kind kind : {Kind::kUser, Kind::kNetwork, Kind::kPid, Kind::kMount, Kind::kIpc, Kind::kUts, Kind::kCgroup}) {
    BOOST_OUTCOME_TRY(auto theirs, sys::Namespace::of_process(pid, kind));
    BOOST_OUTCOME_TRY(auto ours, sys::current_namespace_id(kind));
    if (theirs.id() == ours) return fault("it shares the host's " + std::string(sys::to_string(kind)) + " namespace");
  }
  return success();
}

}  // namespace sallyport::launcher
