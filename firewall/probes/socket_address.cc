#include "firewall/probes/socket_address.h"

#include <arpa/inet.h>

#include <cstring>

namespace sallyport::firewall {

SocketAddress socket_address(const IpAddress& address, std::uint16_t port) noexcept {
  SocketAddress out;
  if (address.is_v4()) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, address.bytes().data(), 4);
    std::memcpy(&out.storage, &v4, sizeof v4);
    out.size = sizeof v4;
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, address.bytes().data(), 16);
    std::memcpy(&out.storage, &v6, sizeof v6);
    out.size = sizeof v6;
  }
  return out;
}

}  // namespace sallyport::firewall
