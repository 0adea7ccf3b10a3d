// Connections to a true address that several of the task's names share: the client's own first words choose one.
#pragma once

#include <optional>
#include <span>

#include "proxy/client/connection.h"

namespace sallyport::proxy {

// Reads, without consuming it, the greeting of a TLS client (its server name) or the head of an HTTP request (its Host), and gives the
// one of `names` that it is for. Nothing when it is for none of them, says nothing of the kind, or takes too long.
Awaitable<std::optional<HostName>> choose_name(ClientConnection& client, std::span<const HostName> names);

}  // namespace sallyport::proxy
