#include <linux/rtnetlink.h>

#include <algorithm>
#include <string>

#include "core/base/escape.h"
#include "firewall/addresses/configure.h"
#include "firewall/api/plan.h"
#include "firewall/inspect/links.h"
#include "firewall/inspect/routes.h"

namespace sallyport::firewall {

namespace {

constexpr std::uint32_t kLo = 1;

struct Expected {
  IpPrefix to;
  std::uint32_t table;
  bool seen = false;
};

bool is_expected(const Route& route, std::vector<Expected>& expected) {
  if (!route.is_plain || route.type != RTN_LOCAL || route.interface != kLo) return false;
  auto found =
      std::ranges::find_if(expected, [&](const Expected& e) { return e.to == route.to && e.table == route.table; });
  if (found == expected.end()) return false;
  found->seen = true;
  return true;
}

// The kernel also lists an IPv6 address of lo as a unicast route of the main table: the same place.
bool is_own_address_again(const Route& route, const IpAddress& own6) {
  return route.is_plain && route.type == RTN_UNICAST && route.interface == kLo && route.to == IpPrefix::of(own6, 128);
}

}  // namespace

Result<void> check_routes() {
  BOOST_OUTCOME_TRY(IpAddress own4, IpAddress::parse(kOwnAddress4));
  BOOST_OUTCOME_TRY(IpAddress own6, IpAddress::parse(kOwnAddress6));
  std::vector<Expected> expected{{IpPrefix::of(own4, 32), RT_TABLE_LOCAL},
                                 {IpPrefix::of(own4, 0), RT_TABLE_LOCAL},
                                 {IpPrefix::of(own6, 128), RT_TABLE_LOCAL},
                                 {IpPrefix::of(own6, 0), RT_TABLE_LOCAL}};
  BOOST_OUTCOME_TRY(std::vector<Route> routes, list_routes());
  for (const Route& route : routes) {
    if (is_expected(route, expected) || is_kernel_loopback_route(route) || is_own_address_again(route, own6)) continue;
    return fail(ErrorKind::kDenied, "there is another route: " + route.text());
  }
  for (const Expected& one : expected) {
    if (!one.seen) return fail(ErrorKind::kDenied, "the route to " + one.to.text() + " is missing");
  }
  return success();
}

Result<void> check_interfaces() {
  BOOST_OUTCOME_TRY(std::vector<Link> links, list_links());
  bool has_lo = false;
  for (const Link& link : links) {
    has_lo = has_lo || is_lo(link);
    if (is_lo(link) || is_idle_fallback_tunnel(link)) continue;
    return fail(ErrorKind::kDenied, "there is another interface than lo: " + escape_text(link.name, 32));
  }
  if (!has_lo) return fail(ErrorKind::kDenied, "there is no lo");
  return success();
}

Result<void> check_rules() {
  BOOST_OUTCOME_TRY(std::vector<Rule> rules, list_rules());
  for (const Rule& rule : rules) {
    if (!is_default_rule(rule) || std::ranges::count(rules, rule) != 1) {
      return fail(ErrorKind::kDenied, "there is a policy-routing rule of " + std::string(rule.is_v4 ? "IPv4" : "IPv6") +
                                          ", priority " + std::to_string(rule.priority));
    }
  }
  // Without one of them the local table, and with it our routes, might not be asked.
  if (rules.size() != 5) return fail(ErrorKind::kDenied, "a default policy-routing rule is missing");
  return success();
}

}  // namespace sallyport::firewall
