// Event: coroutines of one thread wait until somebody on the same thread says "look again".
//
// Not a lock and not a queue: state lives elsewhere, is checked before waiting and again after waking, as with
// a condition variable. Destroying an Event with waiters is a bug; notify_all first. Not thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "core/async/awaitable.h"

namespace sallyport::async {

class Event {
 public:
  explicit Event(Executor executor) : executor_(executor) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();

  // Suspends until the next notify.
  Awaitable<void> wait();
  // Wakes all that wait now, through the executor, so never re-entrantly.
  void notify_all() noexcept;
  // Wakes the one that has waited longest, if any.
  void notify_one() noexcept;
  std::size_t waiters() const noexcept { return waiters_.size(); }

  // A suspended coroutine; resumes once.
  class Waiter {
   public:
    virtual ~Waiter() = default;
    virtual void resume(Executor executor) = 0;
  };

 private:
  void pop_and_resume();

  Executor executor_;
  std::vector<std::unique_ptr<Waiter>> waiters_;
};

}  // namespace sallyport::async
