// TaskScope: the owner of spawned coroutines. Nothing is detached; closing refuses new work, aborts what registered, and joins.
//
// Declared as the last member of what its coroutines use. All calls on one thread. `close` must have completed before destruction.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/async/awaitable.h"
#include "core/async/event.h"
#include "core/base/result.h"

namespace sallyport::async {

enum class CancelReason { kNone, kTaskEnded, kShutdown, kPolicyChanged, kRevoked };

std::string_view to_string(CancelReason reason) noexcept;

// Something that waits on I/O and can be made to stop waiting, usually by aborting its sockets.
class Abortable {
 public:
  Abortable() = default;
  Abortable(const Abortable&) = delete;
  Abortable& operator=(const Abortable&) = delete;
  virtual ~Abortable();
  virtual void abort(CancelReason reason) noexcept = 0;

 private:
  friend class TaskScope;
  Abortable* next_ = nullptr;
  Abortable* previous_ = nullptr;
};

class TaskScope {
 public:
  // At most `maximum` coroutines at once.
  TaskScope(Executor executor, std::size_t maximum);
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;
  ~TaskScope();

  // Runs `work` on the scope's executor. kOverloaded past the maximum, kUnavailable once closing; `work` is then destroyed unrun.
  // An exception that leaves `work` is a bug: it is reported on stderr and counted, and ends only that coroutine.
  Result<void> spawn(Awaitable<void> work);

  // `who` will be aborted when the scope closes; if it is closing already, at once. Ends with `who`'s destruction.
  void enlist(Abortable& who) noexcept;

  // Refuses new work, aborts all that enlisted, and waits until every coroutine has ended.
  Awaitable<void> close(CancelReason reason);

  // The first half of close, for callers that join later.
  void cancel(CancelReason reason) noexcept;

  CancelReason reason() const noexcept { return reason_; }
  bool closing() const noexcept { return reason_ != CancelReason::kNone; }
  std::size_t running() const noexcept { return running_; }
  std::size_t failures() const noexcept { return failures_; }

 private:
  struct Head final : Abortable {
    void abort(CancelReason) noexcept override {}
  };

  void finished() noexcept;

  Executor executor_;
  std::size_t maximum_;
  std::size_t running_ = 0;
  std::size_t failures_ = 0;
  CancelReason reason_ = CancelReason::kNone;
  Head head_;
  Event ended_;
};

}  // namespace sallyport::async
