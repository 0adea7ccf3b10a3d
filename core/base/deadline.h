// Deadline: an absolute moment on the steady clock after which waiting ends. Passed down by value, never restarted.
#pragma once

#include <chrono>

namespace sallyport {

using Clock = std::chrono::steady_clock;

class Deadline {
 public:
  constexpr explicit Deadline(Clock::time_point at) noexcept : at_(at) {}
  static Deadline after(Clock::duration wait) noexcept { return Deadline(Clock::now() + wait); }
  static constexpr Deadline never() noexcept { return Deadline(Clock::time_point::max()); }

  constexpr Clock::time_point at() const noexcept { return at_; }
  constexpr bool is_never() const noexcept { return at_ == Clock::time_point::max(); }
  constexpr bool passed(Clock::time_point now) const noexcept { return now >= at_; }
  constexpr Deadline earlier(Deadline other) const noexcept { return at_ < other.at_ ? *this : other; }
  // Milliseconds left at `now`, as poll(2) takes them: 0 when passed, -1 for never, rounded up.
  int poll_timeout(Clock::time_point now) const noexcept {
    if (is_never()) return -1;
    if (passed(now)) return 0;
    auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - now).count();
    return left > 2'000'000'000 ? 2'000'000'000 : static_cast<int>(left);
  }

 private:
  Clock::time_point at_;
};

}  // namespace sallyport
