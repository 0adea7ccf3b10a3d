// AddressPolicy: which addresses may be dialled. The last check before connect(2).
//
// What is not of class public is refused unless a range of the appliance's configuration permits it; an embedded IPv4
// address is looked at, too. The floor is refused whatever is permitted.
#pragma once

#include <optional>
#include <vector>

#include "core/base/ip_address.h"
#include "core/base/result.h"
#include "core/base/units.h"
#include "core/net/address_class.h"

namespace sallyport::net {

// An (address, port) that AddressPolicy::check has let pass. Only check makes one, and net::connect takes nothing else,
// so that dialling an unchecked address does not compile. Good for one immediate connect: do not keep it across waits.
class CheckedEndpoint {
 public:
  const IpAddress& address() const noexcept { return address_; }
  Port port() const noexcept { return port_; }

 private:
  friend class AddressPolicy;
  CheckedEndpoint(IpAddress address, Port port) noexcept : address_(address), port_(port) {}
  IpAddress address_;
  Port port_;
};

// One of our listening sockets. The unspecified address stands for every address of this host, of both families.
struct OwnSocket {
  IpAddress address;
  Port port;
};

// Immutable after construction; may be used from any thread. Owns copies of all it is given.
class AddressPolicy {
 public:
  struct Settings {
    std::vector<IpPrefix> permit;          // ranges otherwise refused by class that may be dialled
    std::vector<IpAddress> own_addresses;  // this host's; refused unless permitted. Loopback counts as own always
    std::vector<OwnSocket> own_sockets;    // refused whatever is permitted
  };
  // Everything that is not public is refused.
  AddressPolicy() = default;
  explicit AddressPolicy(Settings settings);

  // kDenied with a text that names the class and, as `code`, the AddressClass. An embedding form that is permitted
  // also needs its inner IPv4 address to be public or permitted. Unspecified, multicast and broadcast
  // addresses are no endpoints and cannot be permitted.
  Result<CheckedEndpoint> check(const IpAddress& address, Port port) const;
  // Whether some port of `address` may be dialled: what the resolver asks of every address in an answer.
  Result<void> check_address(const IpAddress& address) const;

 private:
  bool permitted(const IpAddress& address) const noexcept;
  bool is_own(const IpAddress& address) const noexcept;
  std::optional<AddressClass> refusal(const IpAddress& address) const noexcept;
  bool is_own_socket(const IpAddress& address, Port port) const noexcept;
  Settings settings_;
};

// The class a kDenied Error of AddressPolicy names.
std::optional<AddressClass> refused_class(const Error& error) noexcept;

// The addresses of this host's interfaces (getifaddrs), for Settings::own_addresses. Ask before confinement.
Result<std::vector<IpAddress>> host_addresses();

}  // namespace sallyport::net
