#include "firewall/probes/structure_probe.h"

#include <algorithm>

#include "firewall/addresses/configure.h"
#include "firewall/inspect/sockets.h"

namespace sallyport::firewall {

namespace {

Result<void> check_listeners(const std::vector<std::uint64_t>& own) {
  BOOST_OUTCOME_TRY(std::vector<Socket> sockets, list_sockets());
  for (const Socket& socket : sockets) {
    if (!socket.can_receive_strangers || std::ranges::find(own, socket.inode) != own.end()) continue;
    return fail(ErrorKind::kDenied, "there is another socket: " + socket.text());
  }
  return success();
}

Result<void> check(Probe probe, const ProbeContext& context) {
  switch (probe) {
    case Probe::kInterfaces:
      return check_interfaces();
    case Probe::kRoutes:
      return check_routes();
    case Probe::kRules:
      return check_rules();
    case Probe::kRuleset:
      return check_ruleset(context.ruleset);
    case Probe::kForeignListener:
      return check_listeners(context.own_sockets);
    default:
      return fail(ErrorKind::kInternal, "not a probe of structure");
  }
}

}  // namespace

ProbeOutcome probe_structure(Probe probe, const ProbeContext& context) {
  auto result = check(probe, context);
  if (result) return {probe, ProbeStatus::kClean, 0, ""};
  return {probe, ProbeStatus::kFailed, result.error().code, result.error().detail};
}

}  // namespace sallyport::firewall
