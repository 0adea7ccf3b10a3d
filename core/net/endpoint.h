// Endpoint: an address and a port, and its passage to and from sockaddr.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "core/base/ip_address.h"
#include "core/base/result.h"

namespace sallyport::net {

struct Endpoint {
  IpAddress address = IpAddress::v4({0, 0, 0, 0});
  std::uint16_t port = 0;  // 0: none yet

  // "198.51.100.7:443", "[2001:db8::1]:443"
  std::string text() const;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// A sockaddr of either family with its length.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = sizeof(sockaddr_storage);
  sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress to_socket_address(const Endpoint& endpoint) noexcept;
// kInvalid for a family other than AF_INET and AF_INET6.
Result<Endpoint> from_socket_address(const SocketAddress& address);

}  // namespace sallyport::net
