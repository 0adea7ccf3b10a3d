// sockaddr of an IpAddress and port.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

#include "core/base/ip_address.h"

namespace sallyport::firewall {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress socket_address(const IpAddress& address, std::uint16_t port) noexcept;

}  // namespace sallyport::firewall
