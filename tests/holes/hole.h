// Holes in a task's namespace, made on purpose. Never part of what is shipped.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace sallyport::holes {

// In the namespace the process is in, with the capabilities that attach keeps:
//   none              nothing: the self-test must pass
//   veth              an interface, and the IPv4 default route by it
//   flush             the packet filter emptied
//   udp               a rule that lets every datagram through
//   ipv6-route        the IPv6 default route replaced
//   metadata-route    the cloud metadata address routed away from the proxy
//   foreign-listener  another process listens, is given the connections to 192.0.2.1, and answers as the proxy would
// kInvalid for another name. `impostor` is a socket to a process made by start_impostor.
Result<void> make_hole(std::string_view name, const UniqueFd& impostor);

// The other process: takes one listener over the socket it returns, and answers whatever it is told as the proxy
// answers a probe. Started before attach gives up the right to make processes; ends with the caller.
Result<UniqueFd> start_impostor();

}  // namespace sallyport::holes
