#include "control/ledger/ledger.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace sallyport::control {
namespace {

class LedgerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/sallyport-ledger-XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    directory_ = pattern;
    path_ = directory_ + "/ledger";
  }
  void TearDown() override {
    for (auto suffix : {"", "-wal", "-shm"}) ::unlink((path_ + suffix).c_str());
    ::rmdir(directory_.c_str());
  }
  CounterKey key_{TaskId::parse("t1").value(), "upload", -1};
  std::string directory_, path_;
};

TEST_F(LedgerTest, LeasesExactlyTheLimitAndNoMore) {
  auto ledger = Ledger::open(path_).value();
  ASSERT_TRUE(ledger.set_limit(key_, 100));
  auto first = ledger.lease(key_, 60).value();
  EXPECT_EQ(first.granted, 60u);
  EXPECT_FALSE(first.final);
  auto second = ledger.lease(key_, 60).value();
  EXPECT_EQ(second.granted, 40u);
  EXPECT_TRUE(second.final);
  EXPECT_EQ(ledger.lease(key_, 1).value().granted, 0u);
}

TEST_F(LedgerTest, GrantsNothingForACounterWithoutALimit) {
  auto ledger = Ledger::open(path_).value();
  EXPECT_FALSE(ledger.lease(key_, 1));
  ASSERT_TRUE(ledger.set_limit(key_, 1));
  EXPECT_EQ(ledger.lease(key_, 1).value().granted, 1u);
}

TEST_F(LedgerTest, GivingBackNeverCreatesAllowance) {
  auto ledger = Ledger::open(path_).value();
  ASSERT_TRUE(ledger.set_limit(key_, 10));
  ASSERT_TRUE(ledger.lease(key_, 10));
  ASSERT_TRUE(ledger.give_back(key_, 4));
  EXPECT_EQ(ledger.spent(key_).value(), 6u);
  ASSERT_TRUE(ledger.give_back(key_, 100));
  EXPECT_EQ(ledger.lease(key_, 1000).value().granted, 10u);
}

TEST_F(LedgerTest, SpendingSurvivesAKillAtAnyMoment) {  // budget-014
  {
    auto ledger = Ledger::open(path_).value();
    ASSERT_TRUE(ledger.set_limit(key_, 1'000'000));
  }
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  pid_t child = ::fork();
  if (child == 0) {
    auto ledger = Ledger::open(path_).value();
    for (;;) {
      auto lease = ledger.lease(key_, 10);
      if (!lease || ::write(pipe_ends[1], "x", 1) != 1) ::_exit(1);
    }
  }
  ::close(pipe_ends[1]);
  char byte = 0;
  std::uint64_t granted = 0;
  for (int i = 0; i < 50 && ::read(pipe_ends[0], &byte, 1) == 1; ++i) granted += 10;
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(pipe_ends[0]);
  EXPECT_GE(Ledger::open(path_).value().spent(key_).value(), granted);
}

TEST_F(LedgerTest, RefusesAFileThatIsNoLedger) {
  FILE* file = std::fopen(path_.c_str(), "w");
  for (int i = 0; i < 200; ++i) std::fputs("this is not a database\n", file);
  std::fclose(file);
  EXPECT_FALSE(Ledger::open(path_));
}

}  // namespace
}  // namespace sallyport::control
