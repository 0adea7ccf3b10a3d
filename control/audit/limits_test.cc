// What stops acceptance, and so traffic: a stopped process, a full disk, a budget. And what is counted instead of written.
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <fstream>

#include "control/audit/audit_process_fixture.h"

namespace sallyport::audit_writer::testing {
namespace {

TEST_F(AuditProcess, StoppedProcessAcceptsNothingAndGoesOnAfterwards) {
  start_with_ring();
  AuditRing ring = writer();
  ASSERT_TRUE(put(ring, "t-1", 0).has_value());
  ASSERT_TRUE(accepted(ring));
  Sequence before = ring.accepted();
  ASSERT_EQ(::kill(audit_.pid(), SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(audit_.pid(), &status, WUNTRACED), audit_.pid());
  std::uint64_t sent = 1;
  while (put(ring, "t-1", sent).has_value()) ++sent;
  EXPECT_EQ(put(ring, "t-1", 0).error().kind, ErrorKind::kOverloaded);
  EXPECT_FALSE(accepted(ring, std::chrono::milliseconds(50)));
  EXPECT_EQ(ring.accepted(), before);
  ASSERT_EQ(::kill(audit_.pid(), SIGCONT), 0);
  ASSERT_TRUE(accepted(ring));
  ASSERT_TRUE(put(ring, "t-1", sent).has_value());
  ASSERT_TRUE(accepted(ring));
  auto lines = audit_.lines("request");
  ASSERT_EQ(lines.size(), sent + 1);
  for (std::uint64_t i = 0; i <= sent; ++i) EXPECT_EQ(lines[i]["count"], i);
  EXPECT_EQ(audit_.lines("gap").at(0)["count"], 2);
  EXPECT_EQ(audit_.stop(), 0);
  expect_sound(sent + 4);
}

TEST_F(AuditProcess, CountsRepeatedDenials) {
  start_with_ring();
  AuditRing ring = writer();
  for (std::uint64_t i = 0; i < 500; ++i) {
    while (deny(ring, "t-1", i % 2 == 0 ? "evil.example" : "worse.example", i).has_error()) ::usleep(1000);
  }
  ASSERT_TRUE(accepted(ring));
  ASSERT_TRUE(audit_.end_task("t-1"));
  // Two names, each written once; again only where the machine stood still for a whole window.
  std::uint64_t written = audit_.lines("decision").size();
  EXPECT_GE(written, 2u);
  EXPECT_LT(written, 20u);
  auto counted = audit_.lines("coalesced");
  std::uint64_t sum = 0;
  for (const auto& line : counted) {
    EXPECT_EQ(line["of"], "decision");
    EXPECT_EQ(line["task"], "t-1");
    EXPECT_EQ(line["reason"], "no_rule");
    sum += line["repeated"].get<std::uint64_t>();
  }
  EXPECT_EQ(sum + written, 500u);
  EXPECT_EQ(audit_.stop(), 0);
  EXPECT_TRUE(audit_.verify().sound());
}

TEST_F(AuditProcess, ReportsCountedDenialsWhenTheWindowEnds) {
  start_with_ring();
  AuditRing ring = writer();
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(deny(ring, "t-1", "evil.example", i).has_value());
  ASSERT_TRUE(accepted(ring));
  Deadline deadline = soon();
  while (audit_.lines("coalesced").empty() && !deadline.passed(Clock::now())) ::usleep(20'000);
  EXPECT_EQ(audit_.lines("coalesced").at(0)["verdict"], "deny");
  EXPECT_LE(audit_.lines("coalesced").at(0)["repeated"], 9);
}

TEST_F(AuditProcess, TaskOverItsBudgetStandsStillUntilItIsEnded) {
  audit_.settings().set_task_bytes(100'000);
  start_with_ring();
  auto others = AuditRing::create(AuditRing::kMinSize).value();
  ASSERT_EQ(audit_.register_ring(8, others, {"t-2"}), "");
  AuditRing ring = writer();
  std::optional<FromAudit> told;
  std::uint64_t sent = fill(audit_, ring, 0, told);
  ASSERT_TRUE(told && told->has_task_over_budget());
  EXPECT_EQ(told->task_over_budget().task(), "t-1");
  EXPECT_EQ(audit_.lines("over_budget").size(), 1u);
  AuditRing other = AuditRing::open(others.duplicate().value()).value();
  ASSERT_TRUE(put(other, "t-2", 1).has_value());
  EXPECT_TRUE(accepted(other)) << "one task cannot stop all";
  EXPECT_TRUE(audit_.flush()) << "control is not held up either";
  auto ended = audit_.end_task("t-1");
  ASSERT_TRUE(ended);
  EXPECT_TRUE(accepted(ring));
  EXPECT_EQ(audit_.lines("request").size(), sent + 1);
  EXPECT_EQ(audit_.stop(), 0);
  EXPECT_TRUE(audit_.verify().sound());
}

// lifecycle-007: a full disk stops acceptance, and so traffic; space lets it go on, with nothing lost.
TEST_F(AuditProcess, FullDiskStopsAcceptanceUntilThereIsSpace) {
  if (::geteuid() != 0 || ::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    GTEST_SKIP() << "needs root and a mount namespace of its own for a small tmpfs";
  }
  auto disk = directory_.path() / "disk";
  std::filesystem::create_directory(disk);
  ASSERT_EQ(::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=6m"), 0);
  {
    AuditUnderTest audit(disk / "audit.log");
    ASSERT_TRUE(audit.start());
    ASSERT_EQ(audit.register_ring(7, descriptors_, {"t-1"}), "");
    AuditRing ring = writer();
    std::uint64_t sent = 0;
    ASSERT_TRUE(put(ring, "t-1", sent++).has_value());
    ASSERT_TRUE(accepted(ring));
    std::ofstream(disk / "filler") << std::string(8 << 20, 'x');
    std::optional<FromAudit> told;
    sent = fill(audit, ring, sent, told);
    ASSERT_TRUE(told && told->has_disk_state());
    EXPECT_FALSE(told->disk_state().writable());
    // What is held ahead is for control's own words: acceptance stopped while there was still room for them.
    ToAudit last_words;
    RecordBuilder record(RecordKind::kTaskEnded, task_id("t-1"));
    auto bytes = record.record().bytes;
    last_words.mutable_append()->set_record(bytes.data(), bytes.size());
    ASSERT_TRUE(audit.send(last_words));
    Deadline deadline = soon();
    while (audit.lines("task_ended").empty() && !deadline.passed(Clock::now())) ::usleep(10'000);
    EXPECT_EQ(audit.lines("task_ended").size(), 1u);
    std::filesystem::remove(disk / "filler");
    EXPECT_TRUE(accepted(ring));
    told = audit.receive();
    ASSERT_TRUE(told && told->has_disk_state());
    EXPECT_TRUE(told->disk_state().writable());
    EXPECT_EQ(audit.stop(), 0);
    EXPECT_TRUE(audit.verify().sound());
    auto lines = audit.lines("request");
    ASSERT_EQ(lines.size(), sent);
    for (std::uint64_t i = 0; i < sent; ++i) ASSERT_EQ(lines[i]["count"], i);
  }
  ::umount2(disk.c_str(), MNT_DETACH);
}

// The same where space cannot be reserved: a write meets the end, in the middle of a line.
TEST_F(AuditProcess, WriteThatMeetsTheEndStopsAcceptanceAndIsFinishedLater) {
  start_with_ring();
  AuditRing ring = writer();
  ASSERT_TRUE(put(ring, "t-1", 0).has_value());
  ASSERT_TRUE(accepted(ring));
  rlimit limit{20'003, RLIM_INFINITY};
  rlimit before{};
  ASSERT_EQ(::prlimit(audit_.pid(), RLIMIT_FSIZE, nullptr, &before), 0);
  limit.rlim_max = before.rlim_max;
  ASSERT_EQ(::prlimit(audit_.pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
  std::optional<FromAudit> told;
  std::uint64_t sent = fill(audit_, ring, 1, told);
  ASSERT_TRUE(told && told->has_disk_state());
  EXPECT_FALSE(told->disk_state().writable());
  EXPECT_EQ(std::filesystem::file_size(directory_ / "audit.log"), 20'003u);
  auto lines = audit_.lines("request");
  ASSERT_FALSE(lines.empty());
  EXPECT_LE(ring.accepted().value, lines.back()["pos"].get<std::uint64_t>()) << "nothing is accepted that is not on file";
  ASSERT_EQ(::prlimit(audit_.pid(), RLIMIT_FSIZE, &before, nullptr), 0);
  EXPECT_TRUE(accepted(ring));
  EXPECT_EQ(audit_.stop(), 0);
  EXPECT_TRUE(audit_.verify().sound()) << "the line that was cut has been finished";
  lines = audit_.lines("request");
  ASSERT_EQ(lines.size(), sent);
  for (std::uint64_t i = 0; i < sent; ++i) ASSERT_EQ(lines[i]["count"], i);
}

}  // namespace
}  // namespace sallyport::audit_writer::testing
