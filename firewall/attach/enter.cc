#include "firewall/attach/enter.h"

#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <type_traits>

#include "core/sys/privileges.h"
#include "core/sys/seccomp.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

namespace sallyport::firewall {

namespace {

Result<std::uint64_t> netns_cookie(int socket) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  if (::getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) != 0) return fail_errno("SO_NETNS_COOKIE");
  return cookie;
}

// Of the namespace the process is in.
Result<std::uint64_t> own_cookie() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("socket");
  return netns_cookie(socket.get());
}

Error because(std::string_view what, Error error) {
  error.detail = std::string(what) + " (" + error.detail + ")";
  return error;
}

}  // namespace

Result<void> shield_process() {
  BOOST_OUTCOME_TRY(sys::set_no_new_privs());
  return sys::set_not_dumpable();
}

Result<std::uint64_t> enter(const Target& target, int channel) {
  BOOST_OUTCOME_TRY(std::uint64_t left, own_cookie());
  BOOST_OUTCOME_TRY(std::uint64_t controls, netns_cookie(channel));
  if (!target.owner_is_ours) {
    auto entered = target.owner.enter();
    if (!entered)
      return fail(because("no right to enter the user namespace that owns it: is the task another user's?",
                          std::move(entered).error()));
  }
  auto entered = target.netns.enter();
  if (!entered && target.owner_is_ours) {
    return fail(
        because("it belongs to the machine's own user namespace, so only root can attach to it (or make it with a user "
                "namespace of "
                "its own: unshare -Urn)",
                std::move(entered).error()));
  }
  if (!entered) return fail(because("no right to enter it", std::move(entered).error()));
  BOOST_OUTCOME_TRY(std::uint64_t cookie, own_cookie());
  if (cookie == left || cookie == controls)
    return fail(ErrorKind::kDenied, "it is the network namespace that sallyport itself runs in");
  return cookie;
}

Result<void> keep_network_capabilities() {
  // Without CAP_SETPCAP it stays; with no_new_privs it cannot be drawn on.
  auto bounding = sys::drop_bounding_set();
  if (!bounding && bounding.error().kind != ErrorKind::kDenied) return bounding;
  constexpr std::array<cap_value_t, 3> kKept{CAP_NET_ADMIN, CAP_NET_BIND_SERVICE, CAP_NET_RAW};
  std::unique_ptr<std::remove_pointer_t<cap_t>, int (*)(void*)> set(::cap_init(), &::cap_free);
  if (!set || ::cap_set_flag(set.get(), CAP_PERMITTED, kKept.size(), kKept.data(), CAP_SET) != 0 ||
      ::cap_set_flag(set.get(), CAP_EFFECTIVE, kKept.size(), kKept.data(), CAP_SET) != 0) {
    return fail_errno("capabilities");
  }
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return fail_errno("ambient capabilities");
  if (::cap_set_proc(set.get()) != 0)
    return fail_errno("CAP_NET_ADMIN, CAP_NET_BIND_SERVICE and CAP_NET_RAW are needed");
  return success();
}

Result<void> install_syscall_filter() {
  sys::SyscallFilter filter;
  filter.event_loop();
  for (std::string_view call : {"socket", "bind", "listen", "connect", "setsockopt", "getsockopt", "getsockname",
                                "sendto", "sendmsg", "recvfrom", "recvmsg"}) {
    filter.allow(call);
  }
  // libnftables looks for its name tables under /etc; sysctls and socket tables are files too.
  for (std::string_view call : {"openat", "newfstatat", "access", "readlink", "getdents64", "uname"})
    filter.allow(call);
  return filter.install();
}

}  // namespace sallyport::firewall
