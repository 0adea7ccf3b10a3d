#include "core/async/sleep.h"

#include "core/async/event.h"

namespace sallyport::async {

Awaitable<void> sleep_until(DeadlineWheel& wheel, Deadline deadline) {
  auto executor = co_await boost::asio::this_coro::executor;
  Event over(executor);
  CallbackEntry entry([](void* event) noexcept { static_cast<Event*>(event)->notify_all(); }, &over);
  wheel.arm(entry, deadline);
  while (entry.armed()) {
    auto wait = over.wait();
    co_await std::move(wait);
  }
}

}  // namespace sallyport::async
