#include "firewall/inspect/routes.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "firewall/inspect/netlink.h"

namespace sallyport::firewall {

namespace {

constexpr std::uint32_t kLo = 1;

IpAddress any_of(bool is_v4) noexcept { return is_v4 ? IpAddress::v4({}) : IpAddress::v6({}); }

std::optional<IpAddress> address_of(bool is_v4, const nlattr& attribute) noexcept {
  std::size_t size = mnl_attr_get_payload_len(&attribute);
  if (is_v4 && size == 4) {
    std::array<std::uint8_t, 4> bytes;
    std::memcpy(bytes.data(), mnl_attr_get_payload(&attribute), size);
    return IpAddress::v4(bytes);
  }
  if (!is_v4 && size == 16) {
    std::array<std::uint8_t, 16> bytes;
    std::memcpy(bytes.data(), mnl_attr_get_payload(&attribute), size);
    return IpAddress::v6(bytes);
  }
  return std::nullopt;
}

Route route_of(const nlmsghdr& message) {
  const auto& head = *static_cast<const rtmsg*>(mnl_nlmsg_get_payload(&message));
  bool is_v4 = head.rtm_family == AF_INET;
  IpAddress to = any_of(is_v4);
  Route route{IpPrefix::of(to, 0), head.rtm_table, head.rtm_type};
  // A source-specific or TOS-specific route is not a plain one, nor is one that only a cloned cache entry shows.
  if (head.rtm_src_len != 0 || head.rtm_tos != 0) route.is_plain = false;
  each_attribute(message, sizeof head, [&](std::uint16_t type, const nlattr& attribute) {
    switch (type) {
      case RTA_DST:
        if (auto address = address_of(is_v4, attribute)) to = *address;
        break;
      case RTA_TABLE:
        route.table = number_of(attribute);
        break;
      case RTA_OIF:
        route.interface = number_of(attribute);
        break;
      case RTA_PRIORITY:
        route.metric = number_of(attribute);
        break;
      case RTA_PREFSRC:
      case RTA_METRICS:
      case RTA_CACHEINFO:
      case RTA_PREF:
        break;
      default:
        route.is_plain = false;  // a gateway, several next hops, an encapsulation, or what a later kernel invents
    }
  });
  route.to = IpPrefix::of(to, head.rtm_dst_len);
  return route;
}

Address interface_address_of(const nlmsghdr& message) {
  const auto& head = *static_cast<const ifaddrmsg*>(mnl_nlmsg_get_payload(&message));
  bool is_v4 = head.ifa_family == AF_INET;
  IpAddress found = any_of(is_v4);
  bool has_local = false;
  each_attribute(message, sizeof head, [&](std::uint16_t type, const nlattr& attribute) {
    if (type != IFA_LOCAL && (type != IFA_ADDRESS || has_local)) return;
    if (auto address = address_of(is_v4, attribute)) found = *address;
    has_local = has_local || type == IFA_LOCAL;
  });
  return {IpPrefix::of(found, head.ifa_prefixlen), found, head.ifa_index};
}

Rule rule_of(const nlmsghdr& message) {
  const auto& head = *static_cast<const fib_rule_hdr*>(mnl_nlmsg_get_payload(&message));
  Rule rule{head.family == AF_INET, 0, head.table};
  rule.is_plain =
      head.action == FR_ACT_TO_TBL && head.dst_len == 0 && head.src_len == 0 && head.tos == 0 && head.flags == 0;
  each_attribute(message, sizeof head, [&](std::uint16_t type, const nlattr& attribute) {
    switch (type) {
      case FRA_PRIORITY:
        rule.priority = number_of(attribute);
        break;
      case FRA_TABLE:
        rule.table = number_of(attribute);
        break;
      case FRA_PROTOCOL:
        break;
      // Present with "none" on every rule.
      case FRA_SUPPRESS_PREFIXLEN:
        rule.is_plain = rule.is_plain && number_of(attribute) == 0xffffffffU;
        break;
      default:
        rule.is_plain = false;
    }
  });
  return rule;
}

template <class T, class Header>
Result<std::vector<T>> list(std::uint16_t ask, std::uint16_t answer, T (*read)(const nlmsghdr&)) {
  BOOST_OUTCOME_TRY(Netlink netlink, Netlink::open(NETLINK_ROUTE));
  std::vector<T> found;
  for (std::uint8_t family : {std::uint8_t{AF_INET}, std::uint8_t{AF_INET6}}) {
    BOOST_OUTCOME_TRY(netlink.dump(ask, family, sizeof(Header), [&](const nlmsghdr& message) -> Result<void> {
      if (message.nlmsg_type == answer) found.push_back(read(message));
      return success();
    }));
  }
  return found;
}

std::string_view type_name(std::uint8_t type) noexcept {
  constexpr std::array<std::string_view, 12> names{"unspec",   "unicast",   "local",     "broadcast",
                                                   "anycast",  "multicast", "blackhole", "unreachable",
                                                   "prohibit", "throw",     "nat",       "xresolve"};
  return type < names.size() ? names[type] : "unknown";
}

}  // namespace

std::string Route::text() const {
  return std::string(type_name(type)) + " " + to.text() + " interface " + std::to_string(interface) + " table " +
         std::to_string(table) + (is_plain ? "" : " with a way onward");
}

Result<std::vector<Route>> list_routes() { return list<Route, rtmsg>(RTM_GETROUTE, RTM_NEWROUTE, route_of); }
Result<std::vector<Address>> list_addresses() {
  return list<Address, ifaddrmsg>(RTM_GETADDR, RTM_NEWADDR, interface_address_of);
}
Result<std::vector<Rule>> list_rules() { return list<Rule, fib_rule_hdr>(RTM_GETRULE, RTM_NEWRULE, rule_of); }

bool is_default_rule(const Rule& rule) noexcept {
  constexpr std::array<Rule, 5> kDefaults{{{true, 0, RT_TABLE_LOCAL},
                                           {true, 32766, RT_TABLE_MAIN},
                                           {true, 32767, RT_TABLE_DEFAULT},
                                           {false, 0, RT_TABLE_LOCAL},
                                           {false, 32766, RT_TABLE_MAIN}}};
  return std::ranges::find(kDefaults, rule) != kDefaults.end();
}

bool is_kernel_loopback_route(const Route& route) noexcept {
  if (!route.is_plain || (route.interface != kLo && route.interface != 0)) return false;
  const IpAddress& base = route.to.base();
  if (base.is_v4()) {
    return base.bytes()[0] == 127 && route.to.length() >= 8 && route.table == RT_TABLE_LOCAL &&
           route.interface == kLo && (route.type == RTN_LOCAL || route.type == RTN_BROADCAST);
  }
  // The end of every lookup: refuses whatever found no route.
  if (route.type == RTN_UNREACHABLE && route.to.length() == 0 && route.metric == 0xffffffffU) return true;
  bool is_one = route.to.length() == 128 &&
                std::ranges::all_of(base.bytes().first(15), [](auto b) { return b == 0; }) && base.bytes()[15] == 1;
  return is_one && route.interface == kLo && (route.type == RTN_LOCAL || route.type == RTN_UNICAST);
}

bool is_kernel_loopback_address(const Address& address) noexcept {
  if (address.interface != kLo) return false;
  auto bytes = address.address.bytes();
  if (address.address.is_v4())
    return bytes[0] == 127 && bytes[1] == 0 && bytes[2] == 0 && bytes[3] == 1 && address.prefix.length() == 8;
  return std::ranges::all_of(bytes.first(15), [](auto b) { return b == 0; }) && bytes[15] == 1 &&
         address.prefix.length() == 128;
}

}  // namespace sallyport::firewall
