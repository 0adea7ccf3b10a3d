#include "core/net/endpoint.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace sallyport::net {

std::string Endpoint::text() const {
  std::string host = address.text();
  return (address.is_v4() ? host : "[" + host + "]") + ":" + std::to_string(port);
}

SocketAddress to_socket_address(const Endpoint& endpoint) noexcept {
  SocketAddress out;
  auto bytes = endpoint.address.bytes();
  if (endpoint.address.is_v4()) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(endpoint.port);
    std::memcpy(&in.sin_addr, bytes.data(), bytes.size());
    std::memcpy(&out.storage, &in, sizeof in);
    out.length = sizeof in;
  } else {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(endpoint.port);
    std::memcpy(&in.sin6_addr, bytes.data(), bytes.size());
    std::memcpy(&out.storage, &in, sizeof in);
    out.length = sizeof in;
  }
  return out;
}

Result<Endpoint> from_socket_address(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address.storage, sizeof in);
    std::array<std::uint8_t, 4> octets{};
    std::memcpy(octets.data(), &in.sin_addr, octets.size());
    return Endpoint{IpAddress::v4(octets), ntohs(in.sin_port)};
  }
  if (address.storage.ss_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address.storage, sizeof in);
    std::array<std::uint8_t, 16> octets{};
    std::memcpy(octets.data(), &in.sin6_addr, octets.size());
    return Endpoint{IpAddress::v6(octets), ntohs(in.sin6_port)};
  }
  return fail(ErrorKind::kInvalid, "a socket address of a family other than IPv4 and IPv6");
}

}  // namespace sallyport::net
