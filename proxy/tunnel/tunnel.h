// Tunnels: opaque connections. The name and, for tls:// rules, the ClientHello are checked; then bytes are relayed and counted.
#pragma once

#include "proxy/client/connection.h"
#include "proxy/client/refusal.h"

namespace sallyport::proxy {

// A connection to an upstream for an approved destination, within the task's and the rule's limits.
struct OpenedUpstream {
  std::unique_ptr<UpstreamConnection> connection;  // null: `failure`
  DialFailure failure;
  bool rule_limit = false;
};

// Takes a connection from the budgets and dials. Records nothing.
Awaitable<OpenedUpstream> open_upstream(ClientConnection& client, const policy::ApprovedDestination& destination);

// Hands both connections over to a Relay of the task's scope and returns at once, so that what served the client until now can end:
// a tunnel lives long and keeps nothing of it. What is in the client's input buffer goes first. `client` is of no further use.
Awaitable<void> run_tunnel(ClientConnection& client, const policy::ApprovedDestination& destination,
                           std::unique_ptr<UpstreamConnection> upstream);

// Reads the ClientHello into the client's input buffer and checks it against `destination`. On a mismatch the client has been
// answered and false is returned.
Awaitable<bool> check_client_hello(ClientConnection& client, const policy::ApprovedDestination& destination);

}  // namespace sallyport::proxy
