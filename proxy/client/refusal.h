// Refusals, each told in the client's own protocol: an HTTP answer with the reason, a TLS alert, or a reset.
#pragma once

#include <cstdint>
#include <string>

#include "core/http/request_head.h"
#include "core/tls/alert.h"
#include "proxy/client/connection.h"

namespace sallyport::proxy {

// The HTTP status that goes with a reason: 403 for policy, 421 for a wrong name, 413 and 429 for limits, 502 to 504 for upstreams.
std::uint16_t http_status(policy::ReasonCode reason) noexcept;

// Of what is answered, the parts that only HTTP has.
struct HttpAnswer {
  std::uint16_t status = 0;  // 0: the reason's own
  std::uint8_t client_minor = 1;
  bool head_request = false;
  bool keep_alive = false;
  bool linger = true;  // false: somebody else reads what the client still sends, and ends the connection
};

// Records `decision` (a denial or failure), waits until it is on file, answers. False: the connection is of no further use.
Awaitable<bool> refuse_http(ClientConnection& client, Decision decision, HttpAnswer answer);

// Records and answers a connection of which only the first bytes are known: HTTP gets the answer above, TLS a fatal alert, all
// else a reset. Reads up to one request head if the bytes look like one. Always ends the connection.
Awaitable<void> refuse_unclassified(ClientConnection& client, Decision decision);

// The same for a client that speaks TLS.
Awaitable<void> refuse_tls(ClientConnection& client, Decision decision, tls::AlertDescription alert);

// Records and resets.
void refuse_by_reset(ClientConnection& client, const Decision& decision);

}  // namespace sallyport::proxy
