// CONNECT on the explicit proxy (RFC 9110 section 9.3.6).
#pragma once

#include "core/http/request_head.h"
#include "proxy/client/connection.h"

namespace sallyport::proxy {

// Decides, answers and serves a CONNECT to its end. 200 is sent only once the policy passed and, for a tunnel, the upstream is connected.
Awaitable<void> handle_connect(ClientConnection& client, const http::RequestHead& head);

}  // namespace sallyport::proxy
