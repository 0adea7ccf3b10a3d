#include "core/net/address_policy.h"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

namespace sallyport::net {
namespace {

using Class = AddressClass;

// Addresses of different forms that reach the same host: the embedded IPv4 address where there is one.
IpAddress innermost(const IpAddress& address) noexcept { return embedded_v4(address).value_or(address); }

}  // namespace

AddressPolicy::AddressPolicy(Settings settings) : settings_(std::move(settings)) {}

bool AddressPolicy::permitted(const IpAddress& address) const noexcept {
  return std::ranges::any_of(settings_.permit, [&](const IpPrefix& range) { return range.contains(address); });
}

bool AddressPolicy::is_own(const IpAddress& address) const noexcept {
  IpAddress inner = innermost(address);
  if (classify(inner) == Class::kLoopback) return true;
  return std::ranges::any_of(settings_.own_addresses,
                             [&](const IpAddress& own) { return own == address || innermost(own) == inner; });
}

bool AddressPolicy::is_own_socket(const IpAddress& address, Port port) const noexcept {
  return std::ranges::any_of(settings_.own_sockets, [&](const OwnSocket& socket) {
    if (socket.port != port) return false;
    if (classify(innermost(socket.address)) == Class::kUnspecified) return is_own(address);
    return innermost(socket.address) == innermost(address);
  });
}

std::optional<AddressClass> AddressPolicy::refusal(const IpAddress& address) const noexcept {
  Class address_class = classify(address);
  if (is_metadata(address)) return Class::kMetadata;
  if (is_no_endpoint(address_class)) return address_class;
  if (!permitted(address)) {
    if (address_class != Class::kPublic) return address_class;
    return is_own(address) ? std::optional(Class::kOwnHost) : std::nullopt;
  }
  auto inner = embedded_v4(address);
  return inner ? refusal(*inner) : std::nullopt;
}

namespace {

Error denied(const IpAddress& address, Class address_class) {
  std::string text = address.text() + " is refused: its class is " + std::string(to_string(address_class));
  bool floor = address_class == Class::kMetadata || address_class == Class::kOwnSocket || is_no_endpoint(address_class);
  text += floor ? ", which nothing opens" : ", and no range of `addresses: permit` opens it";
  return Error{ErrorKind::kDenied, static_cast<int>(address_class), std::move(text)};
}

}  // namespace

Result<void> AddressPolicy::check_address(const IpAddress& address) const {
  if (auto refused = refusal(address)) return fail(denied(address, *refused));
  return success();
}

Result<CheckedEndpoint> AddressPolicy::check(const IpAddress& address, Port port) const {
  if (port.value() == 0) return fail(ErrorKind::kInvalid, "port 0 cannot be dialled");
  if (auto refused = refusal(address)) return fail(denied(address, *refused));
  if (is_own_socket(address, port)) return fail(denied(address, Class::kOwnSocket));
  return CheckedEndpoint(address, port);
}

std::optional<AddressClass> refused_class(const Error& error) noexcept {
  if (error.kind != ErrorKind::kDenied || error.code <= 0 || error.code > static_cast<int>(Class::kMetadata))
    return std::nullopt;
  return static_cast<Class>(error.code);
}

Result<std::vector<IpAddress>> host_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return fail_errno("list the addresses of this host");
  std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  std::vector<IpAddress> out;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    if (entry->ifa_addr->sa_family == AF_INET) {
      std::array<std::uint8_t, 4> octets{};
      std::memcpy(octets.data(), &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr, octets.size());
      out.push_back(IpAddress::v4(octets));
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      std::array<std::uint8_t, 16> octets{};
      std::memcpy(octets.data(), &reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr, octets.size());
      out.push_back(IpAddress::v6(octets));
    }
  }
  return out;
}

}  // namespace sallyport::net
