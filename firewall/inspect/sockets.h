// The Internet and packet sockets of the namespace the process is in, read from /proc/thread-self/net.
//
// /proc rather than sock_diag: it needs no module and lists the raw and ping sockets, for which many kernels have no
// sock_diag. A socket that is neither bound nor connected is in neither list; it cannot receive. AF_UNIX and
// AF_NETLINK sockets reach nothing outside the machine's kernel and are not counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace sallyport::firewall {

struct Socket {
  std::string_view protocol;           // "tcp", "udp6", "packet", …
  std::uint64_t inode = 0;             // 0 when no process holds it any more (TIME_WAIT)
  std::uint16_t port = 0;              // local; 0 where there is none
  bool can_receive_strangers = false;  // a listening TCP socket, or one without a peer
  std::string text() const;
};

// kUnavailable when the tables cannot be read or have an unknown form: then nothing is known, and attach must not go
// on.
Result<std::vector<Socket>> list_sockets();

// One line of /proc/net/PROTOCOL that is not its heading. Pure; for tests.
Result<Socket> parse_socket_line(std::string_view protocol, std::string_view line);

}  // namespace sallyport::firewall
