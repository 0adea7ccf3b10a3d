// Pace: when the audit process looks into the rings.
//
// A lone record is taken at once. Under load records are collected for up to a millisecond, so that one look, one write
// and one acknowledgement serve many; the more a look found, the longer the next collects. A writer that only waits
// cuts that short (AuditRing::hurry).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "core/base/deadline.h"

namespace sallyport::audit_writer {

class Pace {
 public:
  static constexpr std::chrono::milliseconds kLongest{1};
  static constexpr std::chrono::microseconds kPerRecord{50};
  // So many wake-ups in a row without a record are a writer's mistake or malice: it is not listened to for kLongest.
  static constexpr unsigned kMaxFalseAlarms = 8;

  // After a look at `now` that took `records`.
  void looked(std::size_t records, bool woken, Clock::time_point now) noexcept {
    collecting_ = records != 0;
    false_alarms_ = woken && records == 0 ? false_alarms_ + 1 : 0;
    next_ = now + std::min<Clock::duration>(kLongest, kPerRecord * records);
    if (deaf()) next_ = now + kLongest;
  }
  bool collecting() const noexcept { return collecting_; }
  // True while doorbells are not to be listened to.
  bool deaf() const noexcept { return false_alarms_ > kMaxFalseAlarms; }
  // When to look without being woken; meaningful while collecting or deaf.
  Clock::time_point next() const noexcept { return next_; }

 private:
  bool collecting_ = false;
  unsigned false_alarms_ = 0;
  Clock::time_point next_{};
};

}  // namespace sallyport::audit_writer
