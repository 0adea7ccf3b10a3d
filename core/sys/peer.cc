#include "core/sys/peer.h"

#include <sys/socket.h>

#include <cerrno>

namespace sallyport::sys {
namespace {
constexpr int kSoPeerPidfd = 77;  // Linux 6.5
}

Result<PeerCredentials> peer_credentials(int socket) {
  sockaddr_storage address{};
  socklen_t address_size = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &address_size) != 0) return fail_errno("getsockname");
  ucred found{};
  socklen_t size = sizeof found;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &found, &size) != 0) return fail_errno("SO_PEERCRED");
  // Any other socket, and one that is not connected, answers with no process and the overflow ids.
  if (address.ss_family != AF_UNIX || found.uid == static_cast<uid_t>(-1) || size != sizeof found)
    return fail(ErrorKind::kInvalid, "SO_PEERCRED: not a connected Unix socket");
  return PeerCredentials{found.pid, found.uid, found.gid};
}

Result<UniqueFd> peer_pidfd(int socket) {
  int fd = -1;
  socklen_t size = sizeof fd;
  if (getsockopt(socket, SOL_SOCKET, kSoPeerPidfd, &fd, &size) == 0) return UniqueFd(fd);
  if (errno == ENOPROTOOPT) return fail(ErrorKind::kUnavailable, "SO_PEERPIDFD: needs Linux 6.5");
  return fail_errno("SO_PEERPIDFD");
}

}  // namespace sallyport::sys
