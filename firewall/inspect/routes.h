// Addresses, routes and policy-routing rules of the namespace the process is in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ip_address.h"
#include "core/base/result.h"

namespace sallyport::firewall {

struct Route {
  IpPrefix to;
  std::uint32_t table = 0;
  std::uint8_t type = 0;        // RTN_LOCAL, …
  std::uint32_t interface = 0;  // 0: none or several
  std::uint32_t metric = 0;
  bool is_plain = true;      // one interface and no gateway, encapsulation, next-hop object or other way onward
  std::string text() const;  // for an operator
};

struct Address {
  IpPrefix prefix;  // the address itself with the length of its network
  IpAddress address;
  std::uint32_t interface = 0;
};

struct Rule {
  bool is_v4 = true;
  std::uint32_t priority = 0;
  std::uint32_t table = 0;
  bool is_plain = true;  // looks a table up for every packet, without any condition
  friend bool operator==(const Rule&, const Rule&) = default;
};

Result<std::vector<Route>> list_routes();       // every table, both families
Result<std::vector<Address>> list_addresses();  // both families
Result<std::vector<Rule>> list_rules();         // both families

// The rules every namespace is born with.
bool is_default_rule(const Rule& rule) noexcept;

// Routes that a loopback interface which is up has by itself: 127.0.0.0/8 and ::1, all to interface 1, and
// the kernel's own "no route" entry.
bool is_kernel_loopback_route(const Route& route) noexcept;
bool is_kernel_loopback_address(const Address& address) noexcept;

}  // namespace sallyport::firewall
