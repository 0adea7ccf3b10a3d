// Connecting to an address that the address policy has checked. There is no other way to connect in the house.
#pragma once

#include <memory>

#include "core/async/deadline_wheel.h"
#include "core/async/task_scope.h"
#include "core/net/address_policy.h"
#include "core/net/socket_stream.h"

namespace sallyport::net {

// Opens a TCP connection (TCP_NODELAY, keep-alive probes off). kTimedOut at the deadline, kUnavailable when refused or
// unreachable, kOverloaded without descriptors, kDisconnected when `scope` closes meanwhile. `wheel` and `scope` must outlive the call.
Awaitable<Result<std::unique_ptr<SocketStream>>> connect(async::DeadlineWheel& wheel, async::TaskScope& scope, CheckedEndpoint to,
                                                         Deadline deadline);

}  // namespace sallyport::net
