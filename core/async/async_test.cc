#include <gtest/gtest.h>

#include <vector>

#include "core/async/deadline_wheel.h"
#include "core/async/event.h"
#include "core/async/task_scope.h"

namespace sallyport::async {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Probe final : DeadlineWheel::Entry {
  int fired = 0;
  void expired() noexcept override { ++fired; }
};

TEST(DeadlineWheel, FiresNeverEarlyAndWithinATick) {
  Clock::time_point start{};
  DeadlineWheel wheel(start);
  Probe probe;
  wheel.arm(probe, Deadline(start + milliseconds(100)));
  wheel.advance(start + milliseconds(99));
  EXPECT_EQ(probe.fired, 0);
  wheel.advance(start + milliseconds(111));
  EXPECT_EQ(probe.fired, 1);
  EXPECT_FALSE(probe.armed());
}

TEST(DeadlineWheel, KeepsDeadlinesBeyondATurnAndSurvivesAStoppedClock) {
  Clock::time_point start{};
  DeadlineWheel wheel(start);
  Probe near, far;
  wheel.arm(near, Deadline(start + seconds(3)));
  wheel.arm(far, Deadline(start + seconds(60)));
  wheel.advance(start + seconds(30));  // the process was stopped for half a minute
  EXPECT_EQ(near.fired, 1);
  EXPECT_EQ(far.fired, 0);
  wheel.advance(start + milliseconds(59'990));
  EXPECT_EQ(far.fired, 0);
  wheel.advance(start + milliseconds(60'010));
  EXPECT_EQ(far.fired, 1);
}

TEST(DeadlineWheel, DisarmAndDestructionCancel) {
  Clock::time_point start{};
  DeadlineWheel wheel(start);
  Probe disarmed;
  {
    Probe gone;
    wheel.arm(gone, Deadline(start + milliseconds(50)));
  }
  wheel.arm(disarmed, Deadline(start + milliseconds(50)));
  wheel.disarm(disarmed);
  wheel.advance(start + seconds(1));
  EXPECT_EQ(disarmed.fired, 0);
}

struct Rearming final : DeadlineWheel::Entry {
  DeadlineWheel* wheel = nullptr;
  Clock::time_point at{};
  int fired = 0;
  void expired() noexcept override {
    if (++fired < 3) wheel->arm(*this, Deadline(at));  // already passed
  }
};

TEST(DeadlineWheel, AnActionMayRearmItselfWithoutALoop) {
  Clock::time_point start{};
  DeadlineWheel wheel(start);
  Rearming entry;
  entry.wheel = &wheel;
  entry.at = start;
  wheel.arm(entry, Deadline(start));
  wheel.advance(start + milliseconds(10));
  EXPECT_EQ(entry.fired, 1);
  wheel.advance(start + milliseconds(1000));
  EXPECT_EQ(entry.fired, 3);
}

struct Waiting final : Abortable {
  explicit Waiting(Executor executor) : event(executor) {}
  void abort(CancelReason why) noexcept override {
    reason = why;
    event.notify_all();
  }
  Event event;
  CancelReason reason = CancelReason::kNone;
};

Awaitable<void> wait_until_aborted(TaskScope& scope, std::vector<CancelReason>& log) {
  auto executor = co_await boost::asio::this_coro::executor;
  Waiting waiting(executor);
  scope.enlist(waiting);
  while (waiting.reason == CancelReason::kNone) {
    auto wait = waiting.event.wait();
    co_await std::move(wait);
  }
  log.push_back(waiting.reason);
}

Awaitable<void> close_then_mark(TaskScope& scope, bool& closed) {
  auto closing = scope.close(CancelReason::kTaskEnded);
  co_await std::move(closing);
  closed = true;
}

TEST(TaskScope, CloseAbortsWhatWaitsJoinsAndRefusesNewWork) {
  IoContext io(1);
  TaskScope outer(io.get_executor(), 4), scope(io.get_executor(), 2);
  std::vector<CancelReason> log;
  bool closed = false;
  ASSERT_TRUE(scope.spawn(wait_until_aborted(scope, log)));
  ASSERT_TRUE(scope.spawn(wait_until_aborted(scope, log)));
  EXPECT_EQ(scope.spawn(wait_until_aborted(scope, log)).error().kind, ErrorKind::kOverloaded);
  io.poll();
  EXPECT_EQ(scope.running(), 2u);
  ASSERT_TRUE(outer.spawn(close_then_mark(scope, closed)));
  io.restart();
  io.run();
  EXPECT_TRUE(closed);
  EXPECT_EQ(log, (std::vector{CancelReason::kTaskEnded, CancelReason::kTaskEnded}));
  EXPECT_EQ(scope.spawn(wait_until_aborted(scope, log)).error().kind, ErrorKind::kUnavailable);
}

Awaitable<void> throws() {
  throw 1;
  co_return;
}

TEST(TaskScope, AnExceptionEndsOnlyItsCoroutine) {
  IoContext io(1);
  TaskScope scope(io.get_executor(), 2);
  ASSERT_TRUE(scope.spawn(throws()));
  io.run();
  EXPECT_EQ(scope.failures(), 1u);
  EXPECT_EQ(scope.running(), 0u);
}

}  // namespace
}  // namespace sallyport::async
