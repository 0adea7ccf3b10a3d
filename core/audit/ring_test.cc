#include "core/audit/ring.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "core/audit/ring_memory.h"
#include "core/audit/ring_reader.h"
#include "core/base/deadline.h"

namespace sallyport::audit {
namespace {

using Wakefulness = RingReader::Wakefulness;

TaskId task() { return TaskId::parse("t-1").value(); }

struct Pair {
  explicit Pair(ByteCount size = AuditRing::kMinSize)
      : descriptors(AuditRing::create(size).value()),
        writer(AuditRing::open(descriptors.duplicate().value()).value()),
        reader(RingReader::open(descriptors.duplicate().value()).value()) {}
  RingDescriptors descriptors;
  AuditRing writer;
  RingReader reader;
};

Result<Sequence> put(AuditRing& ring, std::uint64_t number, RecordKind kind = RecordKind::kRequest) {
  RecordBuilder builder(kind, task());
  builder.text(FieldId::kVerdict, "allow").number(FieldId::kCount, number);
  // Sizes vary, so that frames meet the ring's end at every offset.
  builder.text(FieldId::kPath, std::string(number * 7 % 300, 'p'));
  return ring.append(builder.record());
}

std::optional<std::uint64_t> get(RingReader& reader) {
  auto taken = reader.take();
  if (!taken.has_value()) {
    ADD_FAILURE() << taken.error().detail;
    return std::nullopt;
  }
  if (!taken.value()) return std::nullopt;
  auto record = decode(taken.value()->bytes, Origin::kProxy);
  EXPECT_TRUE(record.has_value());
  return record.value().find(FieldId::kCount)->number;
}

bool readable(int fd) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, 0) == 1;
}

TEST(AuditRing, PassesRecordsInOrderAndAcceptsThem) {
  Pair pair;
  Sequence last{};
  for (std::uint64_t i = 1; i <= 100; ++i) last = put(pair.writer, i).value();
  EXPECT_EQ(pair.writer.appended(), last);
  for (std::uint64_t i = 1; i <= 100; ++i) EXPECT_EQ(get(pair.reader), i);
  EXPECT_EQ(get(pair.reader), std::nullopt);
  EXPECT_EQ(pair.writer.accepted().value, 0u);
  pair.reader.accept();
  EXPECT_EQ(pair.writer.accepted(), last);
  EXPECT_EQ(pair.writer.durable().value, 0u);
  pair.reader.mark_durable();
  EXPECT_EQ(pair.writer.durable(), last);
}

// Taking alone frees nothing: only what is in the log makes room.
TEST(AuditRing, DeniesAppendWhenFullUntilAccepted) {
  Pair pair;
  std::uint64_t n = 0;
  while (put(pair.writer, n).has_value()) ++n;
  auto refused = put(pair.writer, 0);
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().kind, ErrorKind::kOverloaded);
  for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(get(pair.reader), i);
  EXPECT_TRUE(put(pair.writer, 0).has_error());
  pair.reader.accept();
  EXPECT_TRUE(put(pair.writer, 7).has_value());
  // Three were refused: the first that did not fit, and two above.
  auto gap = pair.reader.take().value();
  ASSERT_TRUE(gap);
  auto record = decode(gap->bytes, Origin::kProxy).value();
  EXPECT_EQ(record.kind, RecordKind::kGap);
  EXPECT_EQ(record.find(FieldId::kCount)->number, 3u);
  EXPECT_EQ(get(pair.reader), 7u);
}

TEST(AuditRing, KeepsLastQuarterForClosingRecords) {
  Pair pair;
  std::uint64_t n = 0;
  while (put(pair.writer, n, RecordKind::kDecision).has_value()) ++n;
  EXPECT_LE(pair.writer.appended().value, AuditRing::kMinSize.value / 4 * 3);
  EXPECT_TRUE(put(pair.writer, 1, RecordKind::kRequest).has_value());
}

TEST(AuditRing, SurvivesManyTurnsAroundTheEnd) {
  Pair pair;
  std::uint64_t written = 0, read = 0;
  while (written < 20'000) {
    while (written < read + 50) ASSERT_TRUE(put(pair.writer, written++).has_value());
    while (auto number = get(pair.reader)) ASSERT_EQ(*number, read++);
    pair.reader.accept();
  }
  EXPECT_GT(pair.writer.appended().value, AuditRing::kMinSize.value * 10);
}

TEST(AuditRing, RingsOnlyForSleepingReader) {
  Pair pair;
  ASSERT_TRUE(put(pair.writer, 1).has_value());
  EXPECT_FALSE(readable(pair.reader.doorbell_fd()));
  EXPECT_TRUE(pair.reader.announce(Wakefulness::kAsleep)) << "must not sleep: a record waits";
  ASSERT_EQ(get(pair.reader), 1u);
  pair.reader.accept();
  EXPECT_FALSE(pair.reader.announce(Wakefulness::kAsleep));
  ASSERT_TRUE(put(pair.writer, 2).has_value());
  EXPECT_TRUE(readable(pair.reader.doorbell_fd()));
  pair.reader.take_doorbell();
  ASSERT_TRUE(put(pair.writer, 3).has_value());
  EXPECT_FALSE(readable(pair.reader.doorbell_fd())) << "one signal a sleep";
}

TEST(AuditRing, RingsForCollectingReaderWhenEnoughIsPendingOrHurried) {
  Pair pair(ByteCount{256u << 10});
  EXPECT_FALSE(pair.reader.announce(Wakefulness::kCollecting));
  while (pair.reader.pending() < RingReader::kCollectBytes - 500) {
    ASSERT_TRUE(put(pair.writer, 1).has_value());
    ASSERT_FALSE(readable(pair.reader.doorbell_fd()));
  }
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(put(pair.writer, 1).has_value());
  EXPECT_TRUE(readable(pair.reader.doorbell_fd()));
  pair.reader.take_doorbell();

  while (get(pair.reader)) {
  }
  pair.reader.accept();
  EXPECT_FALSE(pair.reader.announce(Wakefulness::kCollecting));
  pair.writer.hurry();
  EXPECT_FALSE(readable(pair.reader.doorbell_fd())) << "nothing waits";
  ASSERT_TRUE(put(pair.writer, 1).has_value());
  EXPECT_FALSE(readable(pair.reader.doorbell_fd()));
  pair.writer.hurry();
  EXPECT_TRUE(readable(pair.reader.doorbell_fd()));
}

TEST(AuditRing, SignalsAckOnlyWhenWantedAndReached) {
  Pair pair;
  Sequence first = put(pair.writer, 1).value();
  Sequence second = put(pair.writer, 2).value();
  ASSERT_EQ(get(pair.reader), 1u);
  pair.reader.accept();
  EXPECT_FALSE(readable(pair.writer.ack_fd())) << "not asked for";
  EXPECT_FALSE(pair.writer.want_ack(first)) << "accepted already";
  EXPECT_TRUE(pair.writer.want_ack(second));
  EXPECT_FALSE(readable(pair.writer.ack_fd()));
  ASSERT_EQ(get(pair.reader), 2u);
  pair.reader.accept();
  EXPECT_TRUE(readable(pair.writer.ack_fd()));
  pair.writer.take_ack();
  EXPECT_FALSE(readable(pair.writer.ack_fd()));
  EXPECT_FALSE(pair.writer.want_ack(second));
}

TEST(AuditRing, AWishThatIsGrantedAlreadyLeavesAHigherOneArmed) {
  Pair pair;
  Sequence first = put(pair.writer, 1).value();
  Sequence second = put(pair.writer, 2).value();
  EXPECT_TRUE(pair.writer.want_ack(second));
  EXPECT_EQ(get(pair.reader), 1u);
  pair.reader.accept();
  EXPECT_FALSE(readable(pair.writer.ack_fd()));
  // As when the reader accepts just between somebody's look at accepted() and the wish.
  EXPECT_FALSE(pair.writer.want_ack(first));
  EXPECT_EQ(get(pair.reader), 2u);
  pair.reader.accept();
  EXPECT_TRUE(readable(pair.writer.ack_fd())) << "whoever waits for the second would never be woken";
}

TEST(AuditRing, ClosedRingDeniesAppendsAndWakesTheWriter) {
  Pair pair;
  Sequence at = put(pair.writer, 1).value();
  EXPECT_TRUE(pair.writer.want_ack(at));
  pair.reader.close();
  EXPECT_TRUE(readable(pair.writer.ack_fd()));
  EXPECT_TRUE(pair.writer.closed());
  auto refused = put(pair.writer, 2);
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnavailable);
  EXPECT_TRUE(pair.reader.take().has_error());
}

TEST(AuditRing, NewWriterContinuesAfterDeadOne) {
  Pair pair;
  ASSERT_TRUE(put(pair.writer, 1).has_value());
  AuditRing next = AuditRing::open(pair.descriptors.duplicate().value()).value();
  ASSERT_TRUE(put(next, 2).has_value());
  EXPECT_EQ(get(pair.reader), 1u);
  EXPECT_EQ(get(pair.reader), 2u);
}

TEST(AuditRing, NewReaderSeesAgainWhatWasNotAcceptedAndKeepsTheTally) {
  Pair pair;
  for (std::uint64_t i = 1; i <= 4; ++i) ASSERT_TRUE(put(pair.writer, i).has_value());
  ASSERT_EQ(get(pair.reader), 1u);
  ASSERT_EQ(get(pair.reader), 2u);
  pair.reader.accept({.folded = 1, .reported = 0});
  ASSERT_EQ(get(pair.reader), 3u);
  RingReader next = RingReader::open(pair.descriptors.duplicate().value()).value();
  EXPECT_EQ(next.tally().folded, 1u);
  EXPECT_EQ(next.tally().reported, 0u);
  EXPECT_EQ(get(next), 3u);
  EXPECT_EQ(get(next), 4u);
  next.accept({.folded = 2, .reported = 0});
  next.accept({.folded = 2, .reported = 2});
  RingReader third = RingReader::open(pair.descriptors.duplicate().value()).value();
  EXPECT_EQ(third.tally().folded, 2u);
  EXPECT_EQ(third.tally().reported, 2u);
}

TEST(AuditRing, GivesARecordAgainThatWasPutBack) {
  Pair pair;
  ASSERT_TRUE(put(pair.writer, 1).has_value());
  Sequence second = put(pair.writer, 2).value();
  EXPECT_EQ(get(pair.reader), 1u);
  EXPECT_EQ(get(pair.reader), 2u);
  pair.reader.give_back();
  pair.reader.accept();
  EXPECT_LT(pair.writer.accepted(), second);
  EXPECT_EQ(get(pair.reader), 2u);
}

// A ring whose writer lies: one good record of known size, then one thing changed behind the reader's back.
class LyingWriter : public testing::Test {
 protected:
  LyingWriter() : memory_(RingMemory::map(pair_.descriptors.memory.get()).value()) {
    end_ = put(pair_.writer, 1).value().value;
  }
  bool taken() {
    auto result = pair_.reader.take();
    if (result.has_value()) return result.value().has_value();
    EXPECT_TRUE(pair_.reader.take().has_error()) << "refused for good";
    refused_ = true;
    return false;
  }
  void frame(FrameHeader header) { memory_->write(0, &header, sizeof header); }
  void expect_refused() {
    EXPECT_FALSE(taken());
    EXPECT_TRUE(refused_);
  }

  Pair pair_;
  std::unique_ptr<RingMemory> memory_;
  std::uint64_t end_ = 0;
  bool refused_ = false;
};

TEST_F(LyingWriter, ControlIsTaken) {
  EXPECT_TRUE(taken());
  EXPECT_FALSE(taken());
  EXPECT_FALSE(refused_);
}
TEST_F(LyingWriter, DeniesRecordPastTheCursor) {
  memory_->header().head = end_ - kFrameAlign;
  expect_refused();
}
TEST_F(LyingWriter, DeniesCursorPastTheRing) {
  memory_->header().head = AuditRing::kMinSize.value + kFrameAlign;
  expect_refused();
}
TEST_F(LyingWriter, DeniesCursorThatGoesBack) {
  EXPECT_TRUE(taken());
  memory_->header().head = end_ - kFrameAlign;
  expect_refused();
}
TEST_F(LyingWriter, DeniesCursorOffARecord) {
  memory_->header().head = end_ + 1;
  expect_refused();
}
TEST_F(LyingWriter, DeniesFrameOfAnotherPlace) {
  frame({kFrameMagic, 40, 8});
  expect_refused();
}
TEST_F(LyingWriter, DeniesFrameWithoutItsMark) {
  frame({kFrameMagic + 1, 40, 0});
  expect_refused();
}
TEST_F(LyingWriter, DeniesSizesThatNoRecordHas) {
  memory_->header().head = 32 * 1024;
  frame({kFrameMagic, kMaxRecordBytes + 1, 0});
  expect_refused();
}
TEST_F(LyingWriter, DeniesEmptyRecord) {
  frame({kFrameMagic, 0, 0});
  expect_refused();
}

TEST(AuditRing, DeniesMemoryThatCouldShrinkUnderTheReader) {
  auto good = AuditRing::create().value();
  std::size_t size = kHeaderBytes + AuditRing::kDefaultSize.value;
  std::vector<char> bytes(size);
  ASSERT_EQ(::pread(good.memory.get(), bytes.data(), size, 0), static_cast<ssize_t>(size));
  for (int seals : {0, F_SEAL_SHRINK, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL}) {
    RingDescriptors copy = good.duplicate().value();
    copy.memory.reset(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::pwrite(copy.memory.get(), bytes.data(), size, 0), static_cast<ssize_t>(size));
    ASSERT_EQ(::fcntl(copy.memory.get(), F_ADD_SEALS, seals), 0);
    EXPECT_EQ(RingReader::open(std::move(copy)).has_value(), (seals & F_SEAL_SEAL) != 0);
  }
}

TEST(AuditRing, DeniesOddSizes) {
  for (std::uint64_t size : {0u, 1u, 4096u, (64u << 10) + 4096}) {
    EXPECT_TRUE(AuditRing::create(ByteCount{size}).has_error()) << size;
  }
  EXPECT_TRUE(AuditRing::create(ByteCount{64u << 10}).has_value());
}

TEST(AuditRing, SealsItsMemory) {
  auto descriptors = AuditRing::create().value();
  EXPECT_NE(::ftruncate(descriptors.memory.get(), 0), 0);
  EXPECT_NE(::ftruncate(descriptors.memory.get(), 64 << 20), 0);
}

// Waits for `fd` with a bound; false when nothing came.
bool wait_for(int fd) {
  pollfd p{fd, POLLIN, 0};
  return ::poll(&p, 1, 5'000) == 1;
}

// Two threads, sleeping and waking each other: no wake-up is lost, no record lost or repeated.
TEST(AuditRing, TwoThreadsLoseNothingAndNoWakeUp) {
  constexpr std::uint64_t kRecords = 100'000;
  Pair pair;
  std::thread reading([&] {
    std::uint64_t next = 0;
    while (next < kRecords) {
      while (auto number = get(pair.reader)) {
        if (*number != next) {
          ADD_FAILURE() << "expected " << next << ", got " << *number;
          return pair.reader.close();
        }
        ++next;
      }
      pair.reader.accept();
      auto state = next % 3 == 0 ? Wakefulness::kCollecting : Wakefulness::kAsleep;
      if (next >= kRecords || pair.reader.announce(state)) continue;
      pollfd p{pair.reader.doorbell_fd(), POLLIN, 0};
      int ready = ::poll(&p, 1, state == Wakefulness::kCollecting ? 1 : 5'000);
      if (ready == 0 && state == Wakefulness::kAsleep) {
        ADD_FAILURE() << "no doorbell after " << next;
        return pair.reader.close();
      }
      pair.reader.take_doorbell();
      pair.reader.announce(Wakefulness::kAwake);
    }
  });
  for (std::uint64_t i = 0; i < kRecords && !pair.writer.closed();) {
    RecordBuilder builder(RecordKind::kRequest, task());
    builder.number(FieldId::kCount, i).text(FieldId::kPath, std::string(i % 200, 'p'));
    // Room is waited for before appending, so that no gap record is made.
    if (pair.writer.appended().value - pair.writer.accepted().value > AuditRing::kMinSize.value - 2 * kMaxRecordBytes) {
      Sequence wanted{pair.writer.accepted().value + 1024};
      if (pair.writer.want_ack(wanted)) {
        ASSERT_TRUE(wait_for(pair.writer.ack_fd())) << "no ack after " << i;
        pair.writer.take_ack();
      }
      continue;
    }
    ASSERT_TRUE(pair.writer.append(builder.record()).has_value());
    ++i;
  }
  reading.join();
  EXPECT_EQ(pair.writer.accepted(), pair.writer.appended());
}

}  // namespace
}  // namespace sallyport::audit
