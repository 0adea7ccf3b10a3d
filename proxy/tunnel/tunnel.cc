#include "proxy/tunnel/tunnel.h"

#include "proxy/tunnel/relay.h"

namespace sallyport::proxy {

Awaitable<void> run_tunnel(ClientConnection& client, const policy::ApprovedDestination& destination,
                           std::unique_ptr<UpstreamConnection> upstream) {
  client.set_upstream(nullptr);
  Relay::start(client, destination, std::move(upstream));
  co_return;
}

}  // namespace sallyport::proxy
