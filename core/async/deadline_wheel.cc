#include "core/async/deadline_wheel.h"

#include <boost/asio/steady_timer.hpp>

namespace sallyport::async {
namespace {

using Timer = boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, Executor>;

}  // namespace

void DeadlineWheel::Entry::unlink() noexcept {
  if (next_ == nullptr) return;
  next_->previous_ = previous_;
  previous_->next_ = next_;
  next_ = previous_ = nullptr;
}

DeadlineWheel::DeadlineWheel(Clock::time_point start) noexcept : start_(start) {
  for (auto& head : slots_) head.next_ = head.previous_ = &head;
}

void DeadlineWheel::link(Entry& head, Entry& entry) noexcept {
  entry.previous_ = head.previous_;
  entry.next_ = &head;
  head.previous_->next_ = &entry;
  head.previous_ = &entry;
}

void DeadlineWheel::arm(Entry& entry, Deadline deadline) noexcept {
  entry.unlink();
  if (deadline.is_never()) return;
  auto since = deadline.at() - start_;
  // Rounded up, so that nothing expires early; at least the tick after the current one.
  std::uint64_t due = since <= Clock::duration::zero() ? 0 : static_cast<std::uint64_t>((since + kTick - Clock::duration(1)) / kTick);
  entry.due_tick_ = due > tick_ ? due : tick_ + 1;
  link(slots_[entry.due_tick_ % kSlots], entry);
}

void DeadlineWheel::advance(Clock::time_point now) noexcept {
  auto target = now <= start_ ? 0 : static_cast<std::uint64_t>((now - start_) / kTick);
  if (target > tick_ + kSlots) {
    // Further than a turn (a stopped process): every slot is visited once, entries are judged by the new tick.
    tick_ = target - kSlots;
  }
  while (tick_ < target) {
    ++tick_;
    Entry& head = slots_[tick_ % kSlots];
    // Moved to a list of their own first: an action may arm entries into this very slot.
    Sentinel due;
    due.next_ = due.previous_ = &due;
    for (Entry* entry = head.next_; entry != &head;) {
      Entry* next = entry->next_;
      if (entry->due_tick_ <= tick_) {
        entry->unlink();
        link(due, *entry);
      }
      entry = next;
    }
    while (due.next_ != &due) {
      Entry* entry = due.next_;
      entry->unlink();
      entry->expired();
    }
    due.next_ = due.previous_ = nullptr;
  }
}

Awaitable<void> DeadlineWheel::run(const bool& stop) {
  auto executor = co_await boost::asio::this_coro::executor;
  Timer timer(executor);
  while (!stop) {
    timer.expires_after(kTick);
    auto wait = timer.async_wait(kAwait);
    co_await std::move(wait);
    advance(Clock::now());
  }
}

}  // namespace sallyport::async
