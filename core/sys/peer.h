// Who is at the other end of a Unix socket, as the kernel recorded it when the connection was made.
#pragma once

#include <sys/types.h>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace sallyport::sys {

struct PeerCredentials {
  pid_t pid = 0;  // 0 when the peer is outside the caller's pid namespace
  uid_t uid = 0;
  gid_t gid = 0;
};

// SO_PEERCRED. For a socketpair it is the process that made the pair. kInvalid when `socket` is no connected Unix
// socket.
Result<PeerCredentials> peer_credentials(int socket);

// SO_PEERPIDFD: a pidfd without a race on the number. kUnavailable before Linux 6.5.
Result<UniqueFd> peer_pidfd(int socket);

}  // namespace sallyport::sys
