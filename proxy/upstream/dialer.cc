#include "proxy/upstream/dialer.h"

namespace sallyport::proxy {
namespace {

using policy::ReasonCode;

DialOutcome failed(ReasonCode reason, std::string detail) { return {{}, {reason, std::move(detail)}}; }

DialOutcome resolution_failed(Resolved resolved) {
  switch (resolved.status) {
    case ResolveStatus::kNotFound:
    case ResolveStatus::kNoAddress:
      return failed(ReasonCode::kNameNotFound, std::move(resolved.detail));
    case ResolveStatus::kRefusedAddress:
      return failed(ReasonCode::kAddressRefused, std::move(resolved.detail));
    case ResolveStatus::kOverloaded:
      return failed(ReasonCode::kOverloaded, std::move(resolved.detail));
    default:
      return failed(ReasonCode::kResolutionFailed, std::move(resolved.detail));
  }
}

ReasonCode refusal(const Error& error) {
  auto address_class = net::refused_class(error);
  if (address_class == net::AddressClass::kMetadata) return ReasonCode::kFloor;
  if (address_class == net::AddressClass::kOwnSocket) return ReasonCode::kSelfConnection;
  return ReasonCode::kAddressRefused;
}

}  // namespace

Awaitable<DialOutcome> Dialer::dial(policy::ApprovedDestination destination, DialShare& share, async::TaskScope& scope, Deadline deadline) {
  if (const IpAddress* literal = destination.target().address()) {
    auto dialling = dial_addresses({*literal}, destination.port(), scope, deadline);
    co_return co_await std::move(dialling);
  }
  const HostName& name = *destination.target().host();
  if (share.resolving >= kMaxResolving && resolver_.kept(name) == nullptr)
    co_return failed(ReasonCode::kOverloaded, "too many names are being resolved for this task");
  ++share.resolving;
  auto resolving = resolver_.resolve(name, scope, deadline);
  auto resolved = co_await std::move(resolving);
  --share.resolving;
  if (scope.closing()) co_return failed(ReasonCode::kTaskEnded, "");
  if (resolved.status != ResolveStatus::kOk) co_return resolution_failed(std::move(resolved));
  auto dialling = dial_addresses(std::move(resolved.addresses), destination.port(), scope, deadline);
  co_return co_await std::move(dialling);
}

Awaitable<DialOutcome> Dialer::dial_at(IpAddress address, policy::ApprovedDestination destination, async::TaskScope& scope,
                                       Deadline deadline) {
  auto dialling = dial_addresses({address}, destination.port(), scope, deadline);
  co_return co_await std::move(dialling);
}

Awaitable<DialOutcome> Dialer::dial_addresses(std::vector<IpAddress> addresses, Port port, async::TaskScope& scope, Deadline deadline) {
  // One refused address refuses the name whole: no fallback from a public address to a private one (dns-012).
  for (const IpAddress& address : addresses) {
    auto checked = addresses_.check(address, port);
    if (!checked) co_return failed(refusal(checked.error()), checked.error().detail);
  }
  DialOutcome last = failed(ReasonCode::kUpstreamRefused, "no address to connect to");
  for (std::size_t i = 0; i < addresses.size() && !deadline.passed(Clock::now()); ++i) {
    auto checked = addresses_.check(addresses[i], port);
    if (!checked) co_return failed(refusal(checked.error()), checked.error().detail);
    bool others_left = i + 1 < addresses.size();
    auto attempt = others_left ? deadline.earlier(Deadline::after(kAddressTimeout)) : deadline;
    auto connecting = net::connect(wheel_, scope, checked.value(), attempt);
    auto connected = co_await std::move(connecting);
    if (connected) co_return DialOutcome{{std::move(connected).value(), {addresses[i], port.value()}}, {}};
    if (scope.closing()) co_return failed(ReasonCode::kTaskEnded, "");
    auto& error = connected.error();
    auto reason = error.kind == ErrorKind::kTimedOut     ? ReasonCode::kUpstreamTimeout
                  : error.kind == ErrorKind::kOverloaded ? ReasonCode::kOverloaded
                                                         : ReasonCode::kUpstreamRefused;
    last = failed(reason, error.detail);
  }
  co_return last;
}

}  // namespace sallyport::proxy
