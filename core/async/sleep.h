// Waiting for a moment, on the thread's wheel.
#pragma once

#include "core/async/awaitable.h"
#include "core/async/deadline_wheel.h"

namespace sallyport::async {

// Completes within one tick after `deadline`. Not cancellable: keep waits short, or wait on an Event instead.
Awaitable<void> sleep_until(DeadlineWheel& wheel, Deadline deadline);

}  // namespace sallyport::async
