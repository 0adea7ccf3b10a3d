// Dialer: from an ApprovedDestination to a connection. The only place in Sallyport that connects for a task.
//
// The name is resolved once; each address is checked by the address policy immediately before connect(2), and what was checked
// is what is dialled.
#pragma once

#include <memory>
#include <string>

#include "core/net/connector.h"
#include "policies/engine/verdict.h"
#include "proxy/upstream/resolver_client.h"

namespace sallyport::proxy {

struct Dialled {
  std::unique_ptr<net::SocketStream> stream;
  net::Endpoint endpoint;  // the address that was connected to
};

// Why there is no connection; `detail` is one escaped line.
struct DialFailure {
  policy::ReasonCode reason = policy::ReasonCode::kInternal;
  std::string detail;
};

struct DialOutcome {
  Dialled dialled;
  DialFailure failure;
  explicit operator bool() const noexcept { return dialled.stream != nullptr; }
};

// What the dials of one task hold; kept by the task.
struct DialShare {
  std::size_t resolving = 0;  // names being looked up
};

class Dialer {
 public:
  static constexpr auto kConnectTimeout = std::chrono::seconds(10);   // for the whole of a dial
  static constexpr auto kAddressTimeout = std::chrono::seconds(3);    // for one address while others are left

  // Borrows all; they must outlive it.
  Dialer(async::DeadlineWheel& wheel, ResolverClient& resolver, const net::AddressPolicy& addresses)
      : wheel_(wheel), resolver_(resolver), addresses_(addresses) {}

  // Lookups at once for the dials of one task, a part of what the thread has for all (ResolverClient::kMaxInFlight).
  static constexpr std::size_t kMaxResolving = 256;

  // The end of `scope` (the task's) ends a dial: kTaskEnded. `share`: the task's; used up, a name that must be looked up is kOverloaded.
  Awaitable<DialOutcome> dial(policy::ApprovedDestination destination, DialShare& share, async::TaskScope& scope, Deadline deadline);
  // The same at one address that the destination's name was found to have, and at no other.
  Awaitable<DialOutcome> dial_at(IpAddress address, policy::ApprovedDestination destination, async::TaskScope& scope, Deadline deadline);
  ResolverClient& resolver() noexcept { return resolver_; }

 private:
  Awaitable<DialOutcome> dial_addresses(std::vector<IpAddress> addresses, Port port, async::TaskScope& scope, Deadline deadline);

  async::DeadlineWheel& wheel_;
  ResolverClient& resolver_;
  const net::AddressPolicy& addresses_;
};

}  // namespace sallyport::proxy
