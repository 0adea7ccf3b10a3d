#include "firewall/attach/unused.h"

#include "core/base/escape.h"
#include "firewall/addresses/configure.h"
#include "firewall/inspect/packet_filters.h"
#include "firewall/inspect/routes.h"
#include "firewall/inspect/sockets.h"

namespace sallyport::firewall {

namespace {

Result<void> check_no_address() {
  BOOST_OUTCOME_TRY(std::vector<Address> addresses, list_addresses());
  for (const Address& address : addresses) {
    if (!is_kernel_loopback_address(address))
      return fail(ErrorKind::kDenied, "it has the address " + address.address.text() + " already");
  }
  return success();
}

Result<void> check_no_route() {
  BOOST_OUTCOME_TRY(std::vector<Route> routes, list_routes());
  for (const Route& route : routes) {
    if (!is_kernel_loopback_route(route)) return fail(ErrorKind::kDenied, "it has a route already: " + route.text());
  }
  return success();
}

Result<void> check_no_table(UnreadableLegacy unreadable) {
  BOOST_OUTCOME_TRY(std::vector<FilterTable> tables, list_filter_tables(unreadable));
  if (tables.empty()) return success();
  return fail(ErrorKind::kDenied, "it has a packet filter already: table " + tables[0].family + " " +
                                      escape_text(tables[0].name, 64) + " (a namespace is attached to once)");
}

Result<void> check_no_socket() {
  BOOST_OUTCOME_TRY(std::vector<Socket> sockets, list_sockets());
  if (sockets.empty()) return success();
  return fail(ErrorKind::kDenied,
              "it has a foreign socket already: " + sockets[0].text() + " (attach before the task starts)");
}

}  // namespace

Result<void> check_unused(UnreadableLegacy unreadable) {
  BOOST_OUTCOME_TRY(check_interfaces());
  BOOST_OUTCOME_TRY(check_no_address());
  BOOST_OUTCOME_TRY(check_no_route());
  BOOST_OUTCOME_TRY(check_rules());
  BOOST_OUTCOME_TRY(check_no_table(unreadable));
  return check_no_socket();
}

}  // namespace sallyport::firewall
