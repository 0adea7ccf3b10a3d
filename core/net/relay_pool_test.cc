#include "core/net/relay_pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <string>

namespace sallyport::net {
namespace {

struct Ends {
  Ends() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    near.reset(fds[0]);
    far.reset(fds[1]);
  }
  void say(std::size_t count) {
    std::string bytes(count, 'x');
    EXPECT_EQ(::send(far.get(), bytes.data(), count, MSG_NOSIGNAL), static_cast<ssize_t>(count));
  }
  UniqueFd near, far;
};

TEST(Pipe, CarriesAtMostWhatIsAskedAndKnowsWhatItHolds) {
  Ends from, to;
  auto pipe = Pipe::open().value();
  EXPECT_TRUE(pipe.fill(from.near.get(), 100).blocked());
  from.say(3000);
  auto in = pipe.fill(from.near.get(), 1000);
  EXPECT_TRUE(in.moved());
  EXPECT_EQ(in.count, 1000u);
  EXPECT_EQ(pipe.held(), 1000u);
  EXPECT_EQ(pipe.drain(to.near.get()).count, 1000u);
  EXPECT_EQ(pipe.held(), 0u);
  char buffer[4096];
  EXPECT_EQ(::recv(to.far.get(), buffer, sizeof buffer, 0), 1000);
}

TEST(Pipe, KeepsWhatAFullReceiverDoesNotTake) {
  Ends from, to;
  auto pipe = Pipe::open().value();
  std::size_t stuffed = 0;
  char block[4096] = {};
  for (ssize_t sent; (sent = ::send(to.near.get(), block, sizeof block, MSG_NOSIGNAL)) > 0;) stuffed += static_cast<std::size_t>(sent);
  from.say(5000);
  ASSERT_EQ(pipe.fill(from.near.get(), 5000).count, 5000u);
  EXPECT_TRUE(pipe.drain(to.near.get()).blocked());
  EXPECT_EQ(pipe.held(), 5000u);
  std::size_t heard = 0;
  for (int i = 0; i < 1000 && heard < stuffed + 5000; ++i) {
    for (ssize_t got; (got = ::recv(to.far.get(), block, sizeof block, 0)) > 0;) heard += static_cast<std::size_t>(got);
    if (pipe.held() > 0) (void)pipe.drain(to.near.get());
  }
  EXPECT_EQ(heard, stuffed + 5000);
  EXPECT_EQ(pipe.held(), 0u);
}

TEST(Pipe, TellsTheEndOfAStreamFromABrokenOne) {
  ::signal(SIGPIPE, SIG_IGN);
  Ends from, to;
  auto pipe = Pipe::open().value();
  from.say(10);
  ::shutdown(from.far.get(), SHUT_WR);
  EXPECT_EQ(pipe.fill(from.near.get(), 100).count, 10u);
  to.far.reset();
  EXPECT_TRUE(pipe.drain(to.near.get()).failed());
  EXPECT_EQ(pipe.held(), 10u);
  auto other = Pipe::open().value();
  EXPECT_TRUE(other.fill(from.near.get(), 100).ended());
}

TEST(RelayPool, LendsUpToATasksShareAndTakesBack) {
  RelayPool pool;
  RelayShare share, other;
  {
    std::vector<RelayPool::Lease> leases;
    for (std::size_t i = 0; i < RelayShare::kMaxPipes; ++i) {
      leases.push_back(pool.lease(share, RelayPool::Size::kOrdinary));
      ASSERT_TRUE(leases.back());
    }
    EXPECT_FALSE(pool.lease(share, RelayPool::Size::kOrdinary));
    EXPECT_TRUE(pool.lease(other, RelayPool::Size::kOrdinary));  // the rest is others'
  }
  EXPECT_EQ(share.pipes, 0u);
  EXPECT_EQ(pool.idle(), RelayPool::kMaxIdle);
  EXPECT_EQ(pool.open(), RelayPool::kMaxIdle);
  EXPECT_TRUE(pool.lease(share, RelayPool::Size::kOrdinary));
}

TEST(RelayPool, ClosesAPipeThatIsNotEmpty) {
  RelayPool pool;
  RelayShare share;
  Ends from;
  from.say(10);
  {
    auto lease = pool.lease(share, RelayPool::Size::kOrdinary);
    ASSERT_EQ(lease->fill(from.near.get(), 10).count, 10u);
  }
  EXPECT_EQ(pool.open(), 0u);
  { auto lease = pool.lease(share, RelayPool::Size::kOrdinary); }
  EXPECT_EQ(pool.open(), 1u);
}

TEST(RelayPool, BoundsAllPipesAndTheLargeOnes) {
  RelayPool pool;
  RelayShare shares[3];
  std::vector<RelayPool::Lease> leases;
  for (auto& share : shares)
    for (std::size_t i = 0; i < RelayShare::kMaxPipes; ++i)
      if (auto lease = pool.lease(share, RelayPool::Size::kLarge)) leases.push_back(std::move(lease));
  EXPECT_EQ(pool.open(), RelayPool::kMaxPipes);
  EXPECT_LE(pool.large(), RelayPool::kMaxLarge);
  leases.clear();
  EXPECT_LE(pool.large(), pool.idle());
}

TEST(RelayPool, HasNoneWithoutDescriptors) {
  RelayPool pool;
  RelayShare share;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  auto denied = pool.lease(share, RelayPool::Size::kOrdinary);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(denied);
  EXPECT_EQ(share.pipes, 0u);
  EXPECT_TRUE(pool.lease(share, RelayPool::Size::kOrdinary));
}

}  // namespace
}  // namespace sallyport::net
