// The audit process as its neighbours see it: real rings, a real log file, a process of its own.
#include <poll.h>
#include <algorithm>
#include <filesystem>

#include "control/audit/audit_process_fixture.h"
#include "core/sys/privileges.h"

namespace sallyport::audit_writer::testing {
namespace {

// lifecycle-009: what the record says stands in the line, with task, time and place.
TEST_F(AuditProcess, WritesARecordAsOneLine) {
  start_with_ring();
  AuditRing ring = writer();
  RecordBuilder builder(RecordKind::kDecision, task_id("t-1"));
  builder.text(FieldId::kVerdict, "allow").text(FieldId::kRule, "prices").text(FieldId::kNameAsked, "API.shop.example");
  builder.text(FieldId::kNameUsed, "api.shop.example").text(FieldId::kAddressDialled, "192.0.2.7").number(FieldId::kPort, 443);
  builder.text(FieldId::kPath, "/v2/prices?key=s3cret").number(FieldId::kBytesUp, ~std::uint64_t{0});
  Sequence at = ring.append(builder.record()).value();
  ASSERT_TRUE(accepted(ring));
  auto line = audit_.lines("decision").at(0);
  EXPECT_EQ(line["task"], "t-1");
  EXPECT_EQ(line["verdict"], "allow");
  EXPECT_EQ(line["rule"], "prices");
  EXPECT_EQ(line["name_asked"], "API.shop.example");
  EXPECT_EQ(line["name_used"], "api.shop.example");
  EXPECT_EQ(line["address_dialled"], "192.0.2.7");
  EXPECT_EQ(line["port"], 443);
  EXPECT_EQ(line["path"], "/v2/prices");
  EXPECT_EQ(line["bytes_up"], ~std::uint64_t{0});
  EXPECT_EQ(line["ring"], "0000000000000007");
  EXPECT_EQ(line["pos"], at.value);
  EXPECT_EQ(line["time"].get<std::string>().size(), 27u);
  EXPECT_FALSE(line.contains("cut"));
  EXPECT_EQ(audit_.stop(), 0);
  expect_sound(3);
  EXPECT_EQ(audit_.lines().back()["kind"], "closed");
}

TEST_F(AuditProcess, AcceptsALoneRecordQuickly) {
  start_with_ring();
  AuditRing ring = writer();
  std::vector<std::chrono::microseconds> waits;
  for (int i = 0; i < 50; ++i) {
    ::usleep(3000);
    auto from = Clock::now();
    Sequence at = put(ring, "t-1", 1).value();
    while (ring.accepted() < at && Clock::now() - from < std::chrono::seconds(5)) {
    }
    waits.push_back(std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - from));
  }
  std::ranges::sort(waits);
  // The quickest tells whether there is a delay by design; the others tell how busy the machine is.
  EXPECT_LT(waits.front(), std::chrono::milliseconds(1));
}

TEST_F(AuditProcess, StrictRecordIsDurableWhenAccepted) {
  start_with_ring();
  AuditRing ring = writer();
  RecordBuilder builder(RecordKind::kRequest, task_id("t-1"), audit::Durability::kStrict);
  Sequence at = ring.append(builder.record()).value();
  ASSERT_TRUE(accepted(ring));
  EXPECT_GE(ring.durable(), at);
}

TEST_F(AuditProcess, BatchedRecordIsDurableSoon) {
  start_with_ring();
  AuditRing ring = writer();
  Sequence at = put(ring, "t-1", 1).value();
  Deadline deadline = soon();
  while (ring.durable() < at && !deadline.passed(Clock::now())) ::usleep(1000);
  EXPECT_GE(ring.durable(), at);
}

TEST_F(AuditProcess, SignalsTheWriterThatWaits) {
  start_with_ring();
  AuditRing ring = writer();
  for (int i = 0; i < 200; ++i) {
    Sequence at = put(ring, "t-1", 1).value();
    if (!ring.want_ack(at)) continue;
    ring.hurry();
    pollfd waited{ring.ack_fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&waited, 1, 5000), 1) << i;
    ring.take_ack();
    ASSERT_GE(ring.accepted(), at);
  }
}

TEST_F(AuditProcess, FlushAndEndTaskTellWhereTheLogStands) {
  start();
  ToAudit begun;
  RecordBuilder record(RecordKind::kTaskStarted, task_id("t-1"));
  auto bytes = record.record().bytes;
  begun.mutable_append()->set_record(bytes.data(), bytes.size());
  ASSERT_TRUE(audit_.send(begun));
  ASSERT_EQ(audit_.register_ring(7, descriptors_, {"t-1"}), "");
  AuditRing ring = writer();
  for (std::uint64_t i = 0; i < 300; ++i) ASSERT_TRUE(put(ring, "t-1", i).has_value());
  auto flushed = audit_.flush();
  ASSERT_TRUE(flushed);
  EXPECT_EQ(flushed->last().sequence(), 302u);
  EXPECT_EQ(ring.durable(), ring.appended());
  auto ended = audit_.end_task("t-1");
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->first().sequence(), 2u);
  EXPECT_EQ(ended->last().sequence(), 302u);
  EXPECT_EQ(ended->records(), 301u);
  auto report = audit_.verify();
  EXPECT_EQ(std::string(report.last.hash.begin(), report.last.hash.end()), ended->last().hash());
  // What was under way is still written.
  ASSERT_TRUE(put(ring, "t-1", 300).has_value());
  EXPECT_TRUE(accepted(ring));
  ToAudit close;
  close.mutable_close_ring()->set_ring(7);
  ASSERT_TRUE(audit_.send(close));
  auto closed = audit_.receive();
  ASSERT_TRUE(closed && closed->has_ring_closed());
  EXPECT_EQ(closed->ring_closed().last().sequence(), 303u);
  EXPECT_EQ(put(ring, "t-1", 301).error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(audit_.stop(), 0);
  expect_sound(304);
}

TEST_F(AuditProcess, RealProgramIsConfinedAndWrites) {
  std::string program = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin/sallyport-audit";
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "sallyport-audit is not built";
  if (::geteuid() == 0) audit_.settings().set_user(sys::kAuditUser.uid);
  ASSERT_TRUE(audit_.exec(program));
  ASSERT_EQ(audit_.register_ring(7, descriptors_, {"t-1"}), "");
  AuditRing ring = writer();
  for (std::uint64_t i = 0; i < 3000; ++i) {
    while (put(ring, "t-1", i).has_error()) ::usleep(100);
  }
  ASSERT_TRUE(accepted(ring));
  for (std::uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(deny(ring, "t-1", "evil.example", i).has_value());
  auto credentials = sys::process_credentials(audit_.pid()).value();
  EXPECT_EQ(credentials.seccomp, 2);
  EXPECT_TRUE(credentials.no_new_privs);
  EXPECT_EQ(credentials.cap_effective, 0u);
  EXPECT_EQ(credentials.cap_permitted, 0u);
  EXPECT_EQ(credentials.threads, 1);
  if (::geteuid() == 0) {
    EXPECT_EQ(credentials.real_uid, sys::kAuditUser.uid);
    EXPECT_EQ(credentials.saved_uid, sys::kAuditUser.uid);
    EXPECT_FALSE(credentials.supplementary_groups);
  }
  ASSERT_TRUE(audit_.end_task("t-1"));
  EXPECT_EQ(audit_.stop(), 0) << "also the way out is on the filter's list";
  auto report = audit_.verify();
  EXPECT_TRUE(report.sound()) << audit_log::render_text(report);
  EXPECT_EQ(audit_.lines("request").size(), 3000u);
}

}  // namespace
}  // namespace sallyport::audit_writer::testing
