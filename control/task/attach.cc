#include "control/task/attach.h"

#include <algorithm>

#include "core/base/random.h"

namespace sallyport::control {
namespace {

std::size_t probes_through_the_proxy() {
  auto probes = firewall::all_probes();
  return static_cast<std::size_t>(std::ranges::count_if(probes, [](const firewall::ProbeInfo& probe) {
    return probe.kind == firewall::ProbeKind::kTcp || probe.kind == firewall::ProbeKind::kDns;
  }));
}

std::vector<TaskListenerFd> listeners_of(firewall::ListenerSet set) {
  std::vector<TaskListenerFd> out;
  out.push_back({proxy::api::PROXY, std::move(set.proxy4)});
  out.push_back({proxy::api::PROXY, std::move(set.proxy6)});
  out.push_back({proxy::api::CAUGHT, std::move(set.caught4)});
  out.push_back({proxy::api::CAUGHT, std::move(set.caught6)});
  out.push_back({proxy::api::DNS, std::move(set.dns4)});
  out.push_back({proxy::api::DNS, std::move(set.dns6)});
  return out;
}

Result<void> self_test(Appliance& appliance, const AttachRequest& request, firewall::AttachSession& session, Deadline deadline) {
  auto nonce = firewall::Nonce::random();
  BOOST_OUTCOME_TRY(appliance.expect_probes(request.task, nonce, deadline));
  auto reported = session.run_probes(nonce, deadline);
  if (!reported) return fail(reported.error().kind, "self-test failed: " + reported.error().detail);
  auto seen = appliance.seen_probes(nonce, probes_through_the_proxy(), deadline.earlier(Deadline::after(std::chrono::milliseconds(500))));
  auto failures = firewall::verify_probes({nonce, request.pools.resolver4}, reported.value(), seen);
  if (!failures.empty()) return fail(ErrorKind::kDenied, firewall::describe(failures));
  return success();
}

}  // namespace

TaskPools fresh_pools() {
  auto chance = random_u64();
  auto block = static_cast<std::uint32_t>(chance % 32);  // 32 ranges of 4096 addresses
  std::uint32_t base = (198u << 24) + (18u << 16) + (block << 12);
  auto octet = [](std::uint64_t value, unsigned shift) { return static_cast<std::uint8_t>(value >> shift); };
  auto v4 = [&](std::uint32_t value) { return IpAddress::v4({octet(value, 24), octet(value, 16), octet(value, 8), octet(value, 0)}); };
  auto v6 = IpAddress::v6({0xfd, 0x53, 0x70, 0x79, octet(chance, 32), octet(chance, 40), octet(chance, 48), octet(chance, 56), 0, 0, 0, 0, 0, 0, 0, 0});
  return {IpPrefix::of(v4(base), 20), IpPrefix::of(v6, 64), v4(base + 1)};
}

Result<void> attach_task(Appliance& appliance, AttachRequest request, firewall::AttachTarget target, Deadline deadline) {
  firewall::AttachOptions options{request.libexec + "/sallyport-attach", request.pools.v4, request.pools.v6, {}};
  BOOST_OUTCOME_TRY(auto session, firewall::AttachSession::start(options, std::move(target)));
  BOOST_OUTCOME_TRY(auto listeners, session.receive_listeners(deadline));
  NewTask task{request.task,     request.policy.text, request.policy.file, request.policy.policy,
               request.pools.v4, request.pools.v6,    listeners_of(std::move(listeners)),
               request.policy.ceiling_text, request.policy.ceiling_file};
  BOOST_OUTCOME_TRY(appliance.add_task(std::move(task), deadline));
  return self_test(appliance, request, session, deadline);
}

}  // namespace sallyport::control
