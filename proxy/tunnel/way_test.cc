#include "proxy/tunnel/way.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <cstring>
#include <random>
#include <string>

#include "proxy/tunnel/test_sockets.h"

namespace sallyport::proxy {
namespace {

using Next = Way::Next;
using namespace std::chrono_literals;

struct NoLedger final : LeaseSource {
  void request_lease(Resource, int, std::uint64_t) noexcept override {}
};

// A direction between two connections whose far ends are the test's.
struct World {
  explicit World(Resource resource_ = Resource::kUpload, int buffer = 0) : resource(resource_) {
    ::signal(SIGPIPE, SIG_IGN);
    auto [near_from, far_from] = tcp_pair();
    auto [near_to, far_to] = tcp_pair(buffer);
    sender = std::move(far_from);
    receiver = std::move(far_to);
    from = net::SocketStream::adopt(io.get_executor(), std::move(near_from)).value();
    to = net::SocketStream::adopt(io.get_executor(), std::move(near_to)).value();
  }
  void limit(std::uint64_t amount) {
    allowances.limit(resource, -1, ledger, io.get_executor());
    allowances.of(resource).granted(amount, true);
  }
  Way& make(std::string_view first = {}) {
    net::InputBuffer input(4096);
    if (!first.empty()) {
      auto room = input.room();
      std::memcpy(room.data(), first.data(), first.size());
      input.filled(first.size());
    }
    return way.emplace(*from, *to, LimitSet(allowances, nullptr), resource, pool, share, std::move(input));
  }

  // Sends what the socket takes of a pattern that has no period a buffer could hide.
  std::size_t say(std::size_t most) {
    std::string bytes(std::min<std::size_t>(most, 256 * 1024), '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern(said + i);
    auto sent = ::send(sender.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return 0;
    said += static_cast<std::size_t>(sent);
    return static_cast<std::size_t>(sent);
  }
  void say_all(std::size_t count) {
    for (int i = 0; i < 1000 && count > 0; ++i) count -= say(count);
    EXPECT_EQ(count, 0u);
  }
  // Takes at most `most`, and checks that it is what was said.
  std::size_t hear(std::size_t most = SIZE_MAX) {
    char buffer[65536];
    std::size_t total = 0;
    while (total < most) {
      auto got = ::recv(receiver.get(), buffer, std::min(sizeof buffer, most - total), 0);
      if (got == 0) end_heard = true;
      if (got <= 0) break;
      for (ssize_t i = 0; i < got; ++i, ++heard)
        if (buffer[i] != pattern(heard)) different = true;
      total += static_cast<std::size_t>(got);
    }
    return total;
  }
  void finish() { EXPECT_EQ(::shutdown(sender.get(), SHUT_WR), 0); }
  static char pattern(std::size_t i) { return static_cast<char>((i * 2654435761u) >> 13); }

  // Steps until it would wait for something other than its turn.
  Next step() {
    now += 1ms;
    for (int i = 0; i < 1000; ++i)
      if (auto next = way->step(now); next != Next::kYield) return next;
    ADD_FAILURE() << "it never waits";
    return Next::kFailed;
  }
  // Both ends work until the direction ends or nothing moves any more.
  Next carry(std::size_t total, std::size_t at_once = 256 * 1024) {
    Next next = Next::kRead;
    for (int quiet = 0; quiet < 200;) {
      std::size_t moved = said < total ? say(std::min(at_once, total - said)) : 0;
      if (said == total && !finished) {
        finished = true;
        finish();
      }
      next = step();
      moved += hear();
      if (next == Next::kEnded || next == Next::kFailed || next == Next::kAllowance) break;
      quiet = moved > 0 ? 0 : quiet + 1;
    }
    while (hear() > 0) {
    }
    return next;
  }
  std::uint64_t used() { return allowances.of(resource).used(); }

  Resource resource;
  IoContext io{1};
  NoLedger ledger;
  AllowanceSet allowances{io.get_executor()};
  net::RelayPool pool;
  net::RelayShare share;
  UniqueFd sender, receiver;
  std::unique_ptr<net::SocketStream> from, to;
  std::optional<Way> way;
  Clock::time_point now = Clock::now();
  std::size_t said = 0, heard = 0;
  bool end_heard = false, different = false, finished = false;
};

void bring_to_splicing(World& world) {
  world.make();
  for (int i = 0; i < 100 && !world.way->splicing(); ++i) {
    world.say(65536);
    for (int k = 0; k < 1000 && world.step() != Next::kRead; ++k) world.hear();
    world.hear();
  }
  ASSERT_TRUE(world.way->splicing());
  EXPECT_EQ(world.way->held(), 0u);
}

TEST(Way, CopiesLittleAndPassesTheEndOn) {
  World world;
  world.make();
  EXPECT_EQ(world.step(), Next::kRead);
  world.say_all(3000);
  world.finish();
  EXPECT_EQ(world.step(), Next::kRead);
  EXPECT_EQ(world.step(), Next::kEnded);
  EXPECT_EQ(world.hear(), 3000u);
  EXPECT_EQ(world.hear(), 0u);
  EXPECT_TRUE(world.end_heard);
  EXPECT_EQ(world.way->counted(), 3000u);
  EXPECT_EQ(world.used(), 3000u);
  EXPECT_EQ(world.pool.open(), 0u);
}

TEST(Way, SplicesWhatProvesBulkyToTheByte) {
  for (auto resource : {Resource::kUpload, Resource::kDownload}) {
    World world(resource);
    world.make();
    constexpr std::size_t kTotal = (24 << 20) + 12345;
    EXPECT_EQ(world.carry(kTotal), Next::kEnded);
    EXPECT_TRUE(world.way->splicing());
    EXPECT_EQ(world.heard, kTotal);
    EXPECT_EQ(world.way->counted(), kTotal);
    EXPECT_EQ(world.used(), kTotal);
    EXPECT_FALSE(world.different);
    EXPECT_GT(world.pool.large(), 0u);
    EXPECT_EQ(world.share.pipes, 0u);
  }
}

TEST(Way, LeavesSplicingForSmallPieces) {
  World world;
  bring_to_splicing(world);
  for (int i = 0; i <= Way::kSmallPieces; ++i) {
    world.say_all(100);
    EXPECT_EQ(world.step(), Next::kRead);
    world.hear();
  }
  EXPECT_FALSE(world.way->splicing());
  EXPECT_EQ(world.heard, world.said);
  EXPECT_FALSE(world.different);
}

// A few reads are quick, and slow ones never add up.
TEST(Way, DoesNotSpliceASlowStream) {
  World world;
  world.make();
  for (int i = 0; i < 40; ++i) {
    world.say_all(60000);
    world.now += Way::kBulkTime;
    EXPECT_EQ(world.step(), Next::kRead);
    world.hear();
  }
  EXPECT_FALSE(world.way->splicing());
  EXPECT_EQ(world.heard, world.said);
}

// A receiver that takes a little at a time: the pipe is drained in parts, and nothing is read meanwhile.
TEST(Way, DrainsAPipeInParts) {
  World world(Resource::kUpload, 8192);
  bring_to_splicing(world);
  world.say_all(400'000);
  Next next = Next::kRead;
  for (int i = 0; i < 50 && next != Next::kWrite; ++i) next = world.step();
  ASSERT_EQ(next, Next::kWrite);
  ASSERT_GT(world.way->held(), 0u);
  EXPECT_EQ(world.share.pipes, 1u);
  auto counted = world.way->counted(), used = world.used();
  EXPECT_EQ(used, counted + world.way->held());
  EXPECT_EQ(world.step(), Next::kWrite);
  EXPECT_EQ(world.way->counted(), counted);
  std::minstd_rand random(1);
  world.finish();
  for (int i = 0; i < 100'000 && next != Next::kEnded; ++i) {
    world.hear(1 + random() % 5000);
    next = world.step();
    ASSERT_NE(next, Next::kFailed);
  }
  while (world.hear() > 0) {
  }
  EXPECT_EQ(world.heard, world.said);
  EXPECT_EQ(world.way->counted(), world.said);
  EXPECT_FALSE(world.different);
  EXPECT_TRUE(world.end_heard);  // the end stood behind bytes in the pipe
}

// The accepting twin of the above without pipes: the same bytes, copied.
TEST(Way, CopiesWhenThereIsNoPipe) {
  World world;
  world.share.pipes = net::RelayShare::kMaxPipes;
  world.make();
  constexpr std::size_t kTotal = 9'000'000;
  EXPECT_EQ(world.carry(kTotal), Next::kEnded);
  EXPECT_EQ(world.heard, kTotal);
  EXPECT_EQ(world.way->counted(), kTotal);
  EXPECT_EQ(world.pool.open(), 0u);
  EXPECT_FALSE(world.different);
}

// budget-007, budget-012
TEST(Way, CutsToTheByteSplicedAndCopied) {
  constexpr std::uint64_t kLimit = (6 << 20) + 777;
  for (auto resource : {Resource::kUpload, Resource::kDownload})
    for (bool with_pipes : {true, false}) {
      World world(resource);
      if (!with_pipes) world.share.pipes = net::RelayShare::kMaxPipes;
      world.limit(kLimit);
      world.make();
      EXPECT_EQ(world.carry(20 << 20), Next::kAllowance);
      EXPECT_EQ(world.heard, kLimit);
      EXPECT_EQ(world.way->counted(), kLimit);
      EXPECT_EQ(world.used(), kLimit);
      EXPECT_FALSE(world.different);
      EXPECT_TRUE(world.from->look().moved());  // what is not paid for stays where it is
    }
}

// A limit that ends in the middle of what a pipe would take.
TEST(Way, CutsInTheMiddleOfAPipe) {
  World world;
  world.limit(700'000);
  bring_to_splicing(world);
  auto left = 700'000 - world.said;
  world.say_all(left + 5000);
  Next next = Next::kRead;
  for (int i = 0; i < 50 && next == Next::kRead; ++i) {
    next = world.step();
    world.hear();
  }
  EXPECT_EQ(next, Next::kAllowance);
  EXPECT_EQ(world.heard, 700'000u);
  EXPECT_EQ(world.way->counted(), 700'000u);
}

TEST(Way, EndsExactlyAtItsLimit) {
  World world;
  world.limit(5'000'000);
  world.make();
  EXPECT_EQ(world.carry(5'000'000), Next::kEnded);
  EXPECT_EQ(world.heard, 5'000'000u);
}

// A stream that stands still holds nothing of a shared budget, a bulky one a bounded part.
TEST(Way, HoldsAFairPartOfAScarceBudget) {
  World world(Resource::kUpload, 8192);
  world.limit(4 << 20);
  bring_to_splicing(world);
  EXPECT_EQ(world.used(), world.said);
  world.say_all(600'000);
  Next next = Next::kRead;
  for (int i = 0; i < 50 && next != Next::kWrite; ++i) next = world.step();
  ASSERT_EQ(next, Next::kWrite);
  EXPECT_LE(world.way->held(), (4u << 20) / Way::kFairPart);
  EXPECT_EQ(world.used(), world.way->counted() + world.way->held());
}

TEST(Way, GivesBackTheAllowanceOfBytesThatNeverLeft) {
  for (bool with_pipes : {true, false}) {
    World world(Resource::kUpload, 8192);
    world.limit(64 << 20);
    if (!with_pipes) world.share.pipes = net::RelayShare::kMaxPipes;
    world.make();
    Next next = Next::kRead;
    for (int i = 0; i < 200 && next != Next::kWrite; ++i) {
      world.say(65536);
      next = world.step();
      if (!world.way->splicing()) world.hear();
    }
    if (!with_pipes)
      for (int i = 0; i < 200 && next != Next::kWrite; ++i) {
        world.say(65536);
        next = world.step();
      }
    ASSERT_EQ(next, Next::kWrite);
    linger now{1, 0};
    ::setsockopt(world.receiver.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    world.receiver.reset();
    EXPECT_EQ(world.step(), Next::kFailed);
    auto counted = world.way->counted();
    EXPECT_GT(world.way->held(), 0u);
    world.way.reset();
    EXPECT_EQ(world.used(), counted);
    EXPECT_EQ(world.share.kept, 0u);
    EXPECT_EQ(world.share.pipes, with_pipes ? 0u : net::RelayShare::kMaxPipes);
    EXPECT_EQ(world.pool.open(), 0u);  // a pipe with foreign bytes serves nobody else
  }
}

// What a download brought is charged, whether the client takes it or not.
TEST(Way, ChargesWhatCameFromUpstream) {
  World world(Resource::kDownload);
  world.make();
  world.say_all(1000);
  world.receiver.reset();
  (void)world.step();
  world.way.reset();
  EXPECT_EQ(world.used(), 1000u);
}

// Urgent data stops splice(2) while the socket stays readable: no spinning, and the rest arrives.
TEST(Way, PassesUrgentData) {
  World world;
  bring_to_splicing(world);
  for (int i = 0; i < 50; ++i) {
    world.say_all(20'000);
    ASSERT_EQ(::send(world.sender.get(), "!", 1, MSG_OOB | MSG_NOSIGNAL), 1);
    world.say_all(20'000);
    for (int k = 0; k < 20 && world.heard < world.said; ++k) {
      ASSERT_EQ(world.step(), Next::kRead);
      world.hear();
    }
    ASSERT_EQ(world.heard, world.said);
  }
  world.finish();
  Next next = Next::kRead;
  for (int k = 0; k < 5 && next == Next::kRead; ++k) next = world.step();
  EXPECT_EQ(next, Next::kEnded);
  EXPECT_FALSE(world.different);
  EXPECT_EQ(world.way->counted(), world.said);
}

// With the end of the stream behind it, splice(2) says at the mark that the stream has ended.
TEST(Way, PassesWhatStandsBetweenUrgentDataAndTheEnd) {
  World world;
  bring_to_splicing(world);
  auto before = world.said;
  world.say_all(20'000);
  ASSERT_EQ(::send(world.sender.get(), "!", 1, MSG_OOB | MSG_NOSIGNAL), 1);
  world.say_all(20'000);
  world.finish();
  Next next = Next::kRead;
  for (int k = 0; k < 20 && next != Next::kEnded && next != Next::kFailed; ++k) next = world.step();
  EXPECT_EQ(next, Next::kEnded);
  while (world.hear() > 0) {
  }
  EXPECT_EQ(world.heard, before + 40'000);
  EXPECT_TRUE(world.end_heard);
  EXPECT_FALSE(world.different);
  EXPECT_EQ(world.way->counted(), before + 40'000);
}

// The same where the budget is used up exactly at the mark.
TEST(Way, PassesAnEndBehindUrgentDataWithoutAllowance) {
  World world;
  world.limit(1000);
  world.make();
  world.say_all(1000);
  EXPECT_EQ(world.step(), Next::kRead);
  ASSERT_EQ(::send(world.sender.get(), "!", 1, MSG_OOB | MSG_NOSIGNAL), 1);
  EXPECT_EQ(world.step(), Next::kRead);
  world.finish();
  EXPECT_EQ(world.step(), Next::kEnded);
  EXPECT_EQ(world.hear(), 1000u);
}

TEST(Way, PaysForWhatWasReadBeforeIt) {
  World world;
  world.limit(1500);
  world.make(std::string(1000, World::pattern(0)));
  world.said = 0;
  EXPECT_EQ(world.step(), Next::kRead);
  EXPECT_EQ(world.way->counted(), 1000u);
  char sink[1000];
  EXPECT_EQ(::recv(world.receiver.get(), sink, sizeof sink, 0), 1000);
  world.say_all(600);
  EXPECT_EQ(world.step(), Next::kAllowance);
  EXPECT_EQ(world.way->counted(), 1500u);
  EXPECT_EQ(::recv(world.receiver.get(), sink, sizeof sink, 0), 500);
}

TEST(Way, SendsNothingOfWhatWasReadBeforeWithoutAllowance) {
  World world;
  world.limit(0);
  world.make("abc");
  EXPECT_EQ(world.step(), Next::kAllowance);
  char sink[10];
  EXPECT_LT(::recv(world.receiver.get(), sink, sizeof sink, 0), 0);
}

TEST(Way, GivesOthersTheirTurn) {
  World world;
  bring_to_splicing(world);
  bool yielded = false;
  for (int i = 0; i < 2000 && !yielded; ++i) {
    world.say(1 << 20);
    yielded = world.way->step(world.now) == Next::kYield;
    world.hear();
  }
  EXPECT_TRUE(yielded || world.way->counted() > Way::kTurn);
}

TEST(Way, KeepsLittleOnceTheTaskKeepsTooMuch) {
  World world(Resource::kUpload, 8192);
  world.share.pipes = net::RelayShare::kMaxPipes;
  world.share.kept = net::RelayShare::kMaxKept;
  world.make();
  Next next = Next::kRead;
  for (int i = 0; i < 2000 && next != Next::kWrite; ++i) {
    world.say(65536);
    next = world.step();
  }
  ASSERT_EQ(next, Next::kWrite);
  EXPECT_LE(world.way->held(), Way::kScarcePiece);
}

}  // namespace
}  // namespace sallyport::proxy
