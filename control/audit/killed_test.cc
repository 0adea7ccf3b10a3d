// Audit processes and writers killed at any moment, torn files, and files that are not ours.
#include <sys/mman.h>
#include <atomic>
#include <fstream>
#include <map>
#include <random>

#include "control/audit/audit_process_fixture.h"

namespace sallyport::audit_writer::testing {
namespace {

// Denials that were counted when the process was killed are still accounted for.
TEST_F(AuditProcess, KilledProcessLosesNoCountOfDenials) {
  start_with_ring();
  AuditRing ring = writer();
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(deny(ring, "t-1", "evil.example", i).has_value());
  ASSERT_TRUE(accepted(ring));
  audit_.kill();
  start_with_ring();
  ASSERT_TRUE(audit_.flush());
  EXPECT_EQ(denials_accounted_for(), 100u);
  EXPECT_LT(audit_.lines("decision").size(), 20u);
  audit_.kill();
  start_with_ring();
  ASSERT_TRUE(audit_.flush());
  EXPECT_EQ(denials_accounted_for(), 100u) << "reported once";
}

// Kills the audit process at random moments while records flow: each is in the log exactly once, in order.
TEST_F(AuditProcess, KilledProcessLosesAndRepeatsNothing) {
  std::mt19937 random(3);
  AuditRing ring = writer();
  std::uint64_t sent = 0;
  for (int round = 0; round < 40; ++round) {
    start_with_ring();
    auto until = Clock::now() + std::chrono::microseconds(random() % 8000);
    while (Clock::now() < until) {
      std::uint64_t room = AuditRing::kMinSize.value - (ring.appended().value - ring.accepted().value);
      if (room > 2 * audit::kMaxRecordBytes && put(ring, "t-1", sent).has_value()) ++sent;
    }
    audit_.kill();
  }
  start_with_ring();
  ASSERT_TRUE(audit_.flush());
  ASSERT_TRUE(accepted(ring));
  EXPECT_EQ(audit_.stop(), 0);
  auto report = audit_.verify();
  EXPECT_TRUE(report.sound()) << audit_log::render_text(report);
  auto lines = audit_.lines("request");
  ASSERT_EQ(lines.size(), sent);
  for (std::uint64_t i = 0; i < sent; ++i) ASSERT_EQ(lines[i]["count"], i);
  EXPECT_GT(sent, 1000u);
}

// The moment between writing a group and accepting it, made on purpose: the tail is put back to where it stood before.
TEST_F(AuditProcess, RecordWrittenButNotAcceptedIsNotWrittenTwice) {
  start_with_ring();
  AuditRing ring = writer();
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(put(ring, "t-1", i).has_value());
  ASSERT_TRUE(accepted(ring));
  Sequence before = ring.accepted();
  for (std::uint64_t i = 10; i < 20; ++i) ASSERT_TRUE(put(ring, "t-1", i).has_value());
  ASSERT_TRUE(accepted(ring));
  audit_.kill();
  audit::RingMemory::map(descriptors_.memory.get()).value()->header().tail = before.value;
  ASSERT_TRUE(put(ring, "t-1", 20).has_value());
  start_with_ring();
  ASSERT_TRUE(accepted(ring));
  auto lines = audit_.lines("request");
  ASSERT_EQ(lines.size(), 21u);
  for (std::uint64_t i = 0; i <= 20; ++i) EXPECT_EQ(lines[i]["count"], i);
  // The control: where the log does not hold the records, they are written.
  audit_.kill();
  std::filesystem::remove(directory_ / "audit.log");
  audit::RingMemory::map(descriptors_.memory.get()).value()->header().tail = before.value;
  start_with_ring();
  ASSERT_TRUE(accepted(ring));
  EXPECT_EQ(audit_.lines("request").size(), 11u);
}

// Kills writers at random moments, and sometimes the audit process too: what a writer had appended is in the log.
TEST_F(AuditProcess, KilledWriterLosesNothingThatItAppended) {
  std::mt19937 random(5);
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& done = *new (page) std::atomic<std::uint64_t>(0);
  std::vector<std::uint64_t> finished;
  start_with_ring();
  for (std::uint64_t generation = 0; generation < 40; ++generation) {
    done = 0;
    pid_t pid = fork_body([&] {
      AuditRing ring = writer();
      for (std::uint64_t n = 1;; ++n) {
        RecordBuilder builder(RecordKind::kRequest, task_id("t-1"));
        builder.number(FieldId::kConnectionId, generation).number(FieldId::kCount, n).text(FieldId::kPath, std::string(n % 300, 'p'));
        while (ring.appended().value - ring.accepted().value > AuditRing::kMinSize.value - 2 * audit::kMaxRecordBytes) {
        }
        if (ring.append(builder.record()).has_value()) done = n;
      }
      return 0;
    });
    ::usleep(static_cast<useconds_t>(500 + random() % 4000));
    if (generation % 4 == 3) {
      audit_.kill();
      start_with_ring();
    }
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    finished.push_back(done);
  }
  ASSERT_TRUE(audit_.flush());
  EXPECT_EQ(audit_.stop(), 0);
  auto report = audit_.verify();
  EXPECT_TRUE(report.sound()) << audit_log::render_text(report);
  EXPECT_TRUE(audit_.lines("ring_corrupt").empty());
  std::map<std::uint64_t, std::uint64_t> last;
  for (const auto& line : audit_.lines("request")) {
    std::uint64_t generation = line["connection_id"];
    ASSERT_EQ(line["count"], ++last[generation]) << "generation " << generation;
  }
  for (std::uint64_t generation = 0; generation < finished.size(); ++generation) {
    EXPECT_GE(last[generation], finished[generation]);
    EXPECT_LE(last[generation], finished[generation] + 1);
  }
  ::munmap(page, 4096);
}

TEST_F(AuditProcess, TornEndIsKeptAndClosedOff) {
  for (std::string torn : {std::string("{\"seq\":3,\"time\":\"20"), std::string(5000, '\0'), std::string("junk\njunk")}) {
    start();
    EXPECT_EQ(audit_.stop(), 0);
    std::ofstream(directory_ / "audit.log", std::ios::app | std::ios::binary) << torn;
    EXPECT_FALSE(audit_.verify().sound());
    auto ready = audit_.start();
    ASSERT_TRUE(ready);
    EXPECT_TRUE(ready->recovered());
    EXPECT_EQ(audit_.stop(), 0);
    auto report = audit_.verify();
    EXPECT_TRUE(report.sound()) << audit_log::render_text(report);
  }
  EXPECT_EQ(audit_.verify().notices.size(), 3u);
  auto ready = audit_.start();
  ASSERT_TRUE(ready);
  EXPECT_FALSE(ready->recovered());
}

TEST_F(AuditProcess, TornFirstLineIsClosedOff) {
  std::ofstream(directory_ / "audit.log", std::ios::binary) << "{\"seq\":1,\"time\":\"2026";
  auto ready = audit_.start();
  ASSERT_TRUE(ready);
  EXPECT_TRUE(ready->recovered());
  EXPECT_EQ(audit_.stop(), 0);
  EXPECT_TRUE(audit_.verify().sound());
}

TEST_F(AuditProcess, DeniesAFileThatIsNoLog) {
  std::ofstream(directory_ / "audit.log", std::ios::binary) << "root:x:0:0::/root:/bin/sh\n";
  EXPECT_FALSE(audit_.start());
  EXPECT_NE(audit_.wait(), 0);
  std::ifstream in(directory_ / "audit.log");
  std::string all((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(all, "root:x:0:0::/root:/bin/sh\n");
}

TEST_F(AuditProcess, DeniesASecondProcessOnTheSameLog) {
  start();
  AuditUnderTest second(directory_ / "audit.log");
  EXPECT_FALSE(second.start());
  EXPECT_NE(second.wait(), 0);
  EXPECT_EQ(audit_.stop(), 0);
  EXPECT_TRUE(audit_.verify().sound());
}

}  // namespace
}  // namespace sallyport::audit_writer::testing
