#include "core/async/task_scope.h"

#include <boost/asio/co_spawn.hpp>
#include <cassert>
#include <cstdio>
#include <exception>

namespace sallyport::async {

std::string_view to_string(CancelReason reason) noexcept {
  switch (reason) {
    case CancelReason::kNone: return "none";
    case CancelReason::kTaskEnded: return "task_ended";
    case CancelReason::kShutdown: return "shutdown";
    case CancelReason::kPolicyChanged: return "policy_changed";
    case CancelReason::kRevoked: return "revoked";
  }
  return "none";
}

Abortable::~Abortable() {
  if (next_ == nullptr) return;
  next_->previous_ = previous_;
  previous_->next_ = next_;
}

TaskScope::TaskScope(Executor executor, std::size_t maximum) : executor_(executor), maximum_(maximum), ended_(executor) {
  head_.next_ = head_.previous_ = &head_;
}

TaskScope::~TaskScope() {
  assert(running_ == 0);
  // Entries may outlive the scope's list: leave none pointing at it.
  while (head_.next_ != &head_) {
    Abortable* entry = head_.next_;
    head_.next_ = entry->next_;
    entry->next_->previous_ = &head_;
    entry->next_ = entry->previous_ = nullptr;
  }
  head_.next_ = head_.previous_ = nullptr;
}

Result<void> TaskScope::spawn(Awaitable<void> work) {
  if (closing()) return fail(ErrorKind::kUnavailable, "the scope is closing");
  if (running_ >= maximum_) return fail(ErrorKind::kOverloaded, "the scope runs its maximum of coroutines");
  ++running_;
  boost::asio::co_spawn(executor_, std::move(work), [this](std::exception_ptr fault) noexcept {
    if (fault) {
      ++failures_;
      try {
        std::rethrow_exception(fault);
      } catch (const std::exception& e) {
        std::fprintf(stderr, "sallyport: bug: an exception left a task: %s\n", e.what());
      } catch (...) {
        std::fprintf(stderr, "sallyport: bug: an exception left a task\n");
      }
    }
    finished();
  });
  return success();
}

void TaskScope::finished() noexcept {
  if (--running_ == 0) ended_.notify_all();
}

void TaskScope::enlist(Abortable& who) noexcept {
  if (closing()) {
    who.abort(reason_);
    return;
  }
  assert(who.next_ == nullptr);
  who.previous_ = head_.previous_;
  who.next_ = &head_;
  head_.previous_->next_ = &who;
  head_.previous_ = &who;
}

void TaskScope::cancel(CancelReason reason) noexcept {
  if (closing()) return;
  reason_ = reason;
  for (Abortable* entry = head_.next_; entry != &head_; entry = entry->next_) entry->abort(reason);
}

Awaitable<void> TaskScope::close(CancelReason reason) {
  cancel(reason);
  while (running_ > 0) {
    auto ended = ended_.wait();
    co_await std::move(ended);
  }
}

}  // namespace sallyport::async
