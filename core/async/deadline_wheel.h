// DeadlineWheel: one timer a thread for all deadlines of that thread.
//
// An Entry is armed with an absolute Deadline and an action (usually: abort a socket). Arming and disarming cost no system call.
// Actions run on the wheel's thread, within one tick (10 ms) after the deadline. Not thread-safe.
// The wheel must outlive its entries; an Entry disarms itself when destroyed.
#pragma once

#include <array>
#include <cstdint>

#include "core/async/awaitable.h"
#include "core/base/deadline.h"

namespace sallyport::async {

class DeadlineWheel {
 public:
  static constexpr Clock::duration kTick = std::chrono::milliseconds(10);

  // What may expire. Derive, or embed a CallbackEntry.
  class Entry {
   public:
    Entry() = default;
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    virtual ~Entry() { unlink(); }
    bool armed() const noexcept { return next_ != nullptr; }

   protected:
    virtual void expired() noexcept = 0;

   private:
    friend class DeadlineWheel;
    void unlink() noexcept;
    Entry* next_ = nullptr;
    Entry* previous_ = nullptr;
    std::uint64_t due_tick_ = 0;
  };

  explicit DeadlineWheel(Clock::time_point start) noexcept;

  // Arms or re-arms. A deadline that passed expires with the next advance; never() disarms.
  void arm(Entry& entry, Deadline deadline) noexcept;
  void disarm(Entry& entry) noexcept { entry.unlink(); }

  // Runs the actions of all entries whose deadline lies at or before `now`. Called by run(), or by a test with its own clock.
  void advance(Clock::time_point now) noexcept;

  // Drives the wheel with the steady clock until `stop` is set; spawn it once a thread.
  Awaitable<void> run(const bool& stop);

 private:
  static constexpr std::size_t kSlots = 512;  // 5 s a turn; later deadlines go round

  struct Sentinel final : Entry {
    void expired() noexcept override {}
  };

  static void link(Entry& head, Entry& entry) noexcept;

  Clock::time_point start_;
  std::uint64_t tick_ = 0;
  std::array<Sentinel, kSlots> slots_;
};

// An Entry that calls a function with a context pointer.
class CallbackEntry final : public DeadlineWheel::Entry {
 public:
  using Action = void (*)(void* context) noexcept;
  CallbackEntry(Action action, void* context) noexcept : action_(action), context_(context) {}

 private:
  void expired() noexcept override { action_(context_); }
  Action action_;
  void* context_;
};

}  // namespace sallyport::async
