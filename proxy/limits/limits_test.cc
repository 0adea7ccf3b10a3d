#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <deque>

#include "proxy/limits/limit_set.h"

namespace sallyport::proxy {
namespace {

// A ledger with a fixed budget for every counter; answers when told to.
struct FakeLedger final : LeaseSource {
  std::uint64_t left = 0;
  std::deque<std::uint64_t> asked;
  void request_lease(Resource, int, std::uint64_t want) noexcept override { asked.push_back(want); }
  void answer(Allowance& allowance) {
    auto grant = std::min(asked.front(), left);
    asked.pop_front();
    left -= grant;
    allowance.granted(grant, left == 0);
  }
};

std::uint64_t run_take(IoContext& io, Allowance& allowance, std::uint64_t want, FakeLedger* ledger = nullptr) {
  std::uint64_t got = 12345;
  bool done = false;
  boost::asio::co_spawn(io, allowance.take(want), [&](std::exception_ptr, std::uint64_t taken) {
    got = taken;
    done = true;
  });
  for (int i = 0; i < 10 && !done; ++i) {
    io.restart();
    io.poll();
    if (ledger && !ledger->asked.empty()) ledger->answer(allowance);
  }
  EXPECT_TRUE(done);
  return got;
}

TEST(Allowance, IsExactAcrossSlices) {
  IoContext io(1);
  FakeLedger ledger;
  ledger.left = 1000;
  Allowance allowance(io.get_executor(), ledger, Resource::kRequests, -1);
  std::uint64_t total = 0;
  for (int i = 0; i < 2000; ++i) {
    auto got = run_take(io, allowance, 7, &ledger);
    if (got == 0) break;
    total += got;
  }
  EXPECT_EQ(total, 1000u);
  EXPECT_TRUE(allowance.exhausted());
  EXPECT_EQ(run_take(io, allowance, 1, &ledger), 0u);  // the deny twin of every take above
}

TEST(Allowance, PutBackIsUsableAgainButOnlyOnce) {
  IoContext io(1);
  FakeLedger ledger;
  ledger.left = 10;
  Allowance allowance(io.get_executor(), ledger, Resource::kUpload, -1);
  EXPECT_EQ(run_take(io, allowance, 10, &ledger), 10u);
  EXPECT_EQ(run_take(io, allowance, 1, &ledger), 0u);
  allowance.put_back(4);
  EXPECT_EQ(run_take(io, allowance, 10), 4u);
  EXPECT_EQ(run_take(io, allowance, 1), 0u);
  EXPECT_EQ(allowance.used(), 10u);
}

TEST(Allowance, WithoutALimitCountsAndNeverAsks) {
  IoContext io(1);
  Allowance allowance(io.get_executor());
  EXPECT_EQ(allowance.take_now(1u << 30), 1u << 30);
  EXPECT_EQ(allowance.used(), 1u << 30);
  EXPECT_FALSE(allowance.exhausted());
}

TEST(Allowance, CloseEndsThoseWhoWait) {
  IoContext io(1);
  FakeLedger ledger;
  Allowance allowance(io.get_executor(), ledger, Resource::kUpload, -1);
  std::uint64_t got = 99;
  boost::asio::co_spawn(io, allowance.take(1), [&](std::exception_ptr, std::uint64_t taken) { got = taken; });
  io.poll();
  EXPECT_EQ(got, 99u);
  allowance.close();
  io.restart();
  io.run();
  EXPECT_EQ(got, 0u);
}

TEST(LimitSet, TakesTheLesserAndGivesTheRestBack) {
  IoContext io(1);
  FakeLedger task_ledger, rule_ledger;
  AllowanceSet task(io.get_executor()), rule(io.get_executor());
  task.limit(Resource::kUpload, -1, task_ledger, io.get_executor());
  rule.limit(Resource::kUpload, 0, rule_ledger, io.get_executor());
  task.of(Resource::kUpload).granted(100, true);
  rule.of(Resource::kUpload).granted(30, true);
  LimitSet limits(task, &rule);
  Taken first, second, whole;
  auto take = [&](Taken& out, std::uint64_t want, bool all) {
    boost::asio::co_spawn(io, all ? limits.take_all(Resource::kUpload, want) : limits.take(Resource::kUpload, want),
                          [&out](std::exception_ptr, Taken taken) { out = taken; });
    io.restart();
    io.poll();
  };
  take(whole, 31, true);  // cannot be had: nothing is kept
  EXPECT_EQ(whole.amount, 0u);
  EXPECT_TRUE(whole.rule_limit);
  take(first, 50, false);
  EXPECT_EQ(first.amount, 30u);
  take(second, 1, false);
  EXPECT_EQ(second.amount, 0u);
  EXPECT_TRUE(second.rule_limit);
  EXPECT_EQ(task.of(Resource::kUpload).available(), 70u);
}

}  // namespace
}  // namespace sallyport::proxy
