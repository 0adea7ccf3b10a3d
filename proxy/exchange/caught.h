// Connections that were caught on their way to some address: what was meant, whether it is allowed, how it is served.
#pragma once

#include "proxy/client/connection.h"

namespace sallyport::proxy {

// Serves a connection of the explicit proxy to its end.
Awaitable<void> serve_explicit(ClientConnection& client);

// Serves a caught connection to its end; destination() is where it went. Loopback, the sandbox's own addresses, unassigned pool
// addresses and the catch-all port itself are closed.
Awaitable<void> serve_caught(ClientConnection& client);

}  // namespace sallyport::proxy
