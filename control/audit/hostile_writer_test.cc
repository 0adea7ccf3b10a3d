// Writers that forge, speak out of turn or scribble; control that breaks the protocol.
#include <random>

#include "control/audit/audit_process_fixture.h"
#include "core/base/unique_fd.h"

namespace sallyport::audit_writer::testing {
namespace {

// lifecycle-008: one request, one well-formed record, whatever it holds.
TEST_F(AuditProcess, ForgedValuesStayInsideTheirField) {
  start_with_ring();
  AuditRing ring = writer();
  const std::vector<std::string> hostile = {
      "a\n{\"seq\":99,\"kind\":\"decision\",\"verdict\":\"allow\"}\n",
      "x\",\"allow\":true,\"y\":\"",
      "%0a%0d\\u000a\\",
      "\x1b[2J\x1b]0;owned\x07",
      "\xff\xfe\xc0\xaf\xed\xa0\x80",
      std::string("nul\0nul", 7),
      "\xe2\x80\xae\xf0\x9f\x92\xa3",
      std::string(1 << 20, '"'),
  };
  for (const std::string& text : hostile) {
    RecordBuilder builder(RecordKind::kDecision, task_id("t-1"));
    builder.text(FieldId::kVerdict, "deny").text(FieldId::kNameAsked, text).text(FieldId::kMethod, text);
    builder.text(FieldId::kPath, text).text(FieldId::kSni, text).text(FieldId::kError, text);
    ASSERT_TRUE(ring.append(builder.record()).has_value());
  }
  ASSERT_TRUE(accepted(ring));
  auto lines = audit_.lines("decision");
  ASSERT_EQ(lines.size(), hostile.size());
  for (const auto& line : lines) {
    EXPECT_EQ(line["verdict"], "deny");
    EXPECT_FALSE(line.contains("allow"));
  }
  EXPECT_EQ(lines[0]["name_asked"], hostile[0]) << "the line feeds come back as data";
  EXPECT_EQ(lines[1]["name_asked"], hostile[1]);
  EXPECT_EQ(lines.back()["cut"], "name_asked method path sni error");
  std::ifstream in(directory_ / "audit.log", std::ios::binary);
  std::string raw((std::istreambuf_iterator<char>(in)), {});
  for (char c : raw) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f));
  EXPECT_EQ(audit_.stop(), 0);
  expect_sound(hostile.size() + 2);
}

TEST_F(AuditProcess, DeniesARecordOfAnotherTask) {
  start_with_ring();
  AuditRing ring = writer();
  ASSERT_TRUE(put(ring, "t-1", 1).has_value());
  ASSERT_TRUE(put(ring, "t-2", 2).has_value());
  auto told = audit_.receive();
  ASSERT_TRUE(told && told->has_ring_corrupt());
  EXPECT_EQ(told->ring_corrupt().ring(), 7u);
  EXPECT_EQ(audit_.lines("request").size(), 1u);
  EXPECT_EQ(audit_.lines("ring_corrupt").size(), 1u);
  EXPECT_TRUE(ring.closed());
  EXPECT_LT(ring.accepted(), ring.appended());
  EXPECT_NE(audit_.register_ring(8, descriptors_, {"t-1", "t-2"}), "") << "closed for good";
  auto fresh = AuditRing::create(AuditRing::kMinSize).value();
  ASSERT_EQ(audit_.register_ring(9, fresh, {"t-1", "t-2"}), "") << "others go on";
  AuditRing next = AuditRing::open(fresh.duplicate().value()).value();
  ASSERT_TRUE(put(next, "t-2", 3).has_value());
  EXPECT_TRUE(accepted(next));
  EXPECT_EQ(audit_.stop(), 0);
  EXPECT_TRUE(audit_.verify().sound());
}

TEST_F(AuditProcess, DeniesAProxyThatSpeaksForControlOrAudit) {
  start();
  std::uint64_t id = 100;
  for (RecordKind kind : {RecordKind::kTaskEnded, RecordKind::kRecovered, RecordKind::kCoalesced, RecordKind::kOpened}) {
    auto descriptors = AuditRing::create(AuditRing::kMinSize).value();
    ASSERT_EQ(audit_.register_ring(++id, descriptors, {"t-1"}), "");
    AuditRing ring = AuditRing::open(std::move(descriptors)).value();
    RecordBuilder builder(kind, task_id("t-1"));
    ASSERT_TRUE(ring.append(builder.record()).has_value());
    auto told = audit_.receive();
    ASSERT_TRUE(told && told->has_ring_corrupt());
    EXPECT_EQ(audit_.lines(std::string(to_string(kind))).size(), kind == RecordKind::kOpened ? 1u : 0u);
  }
}

// A writer that scribbles over the whole ring: the process stays up, the log stays sound.
TEST_F(AuditProcess, SurvivesScribblingWriters) {
  start();
  std::mt19937_64 random(11);
  for (std::uint64_t id = 1; id <= 200; ++id) {
    auto descriptors = AuditRing::create(AuditRing::kMinSize).value();
    ASSERT_EQ(audit_.register_ring(id, descriptors, {"t-1"}), "");
    auto memory = audit::RingMemory::map(descriptors.memory.get()).value();
    AuditRing ring = AuditRing::open(descriptors.duplicate().value()).value();
    auto* words = reinterpret_cast<std::uint64_t*>(&memory->header());
    for (int i = 0; i < 30; ++i) {
      if (put(ring, "t-1", static_cast<std::uint64_t>(i)).has_error()) break;
      std::size_t word = random() % 3 == 0 ? 8 + random() % 40 : 512 + random() % 512;
      words[word] = random() % 2 == 0 ? random() : random() % 4096;
    }
    std::uint64_t one = 1;
    ASSERT_EQ(::write(descriptors.doorbell.get(), &one, sizeof one), 8);
    ToAudit close;
    close.mutable_close_ring()->set_ring(id);
    ASSERT_TRUE(audit_.send(close));
    bool closed = false;
    while (!closed) {
      auto told = audit_.receive();
      ASSERT_TRUE(told) << "the process is gone, or waits for a hostile ring";
      closed = told->has_ring_closed();
    }
  }
  EXPECT_EQ(audit_.stop(), 0);
  auto report = audit_.verify();
  EXPECT_TRUE(report.sound()) << audit_log::render_text(report);
  EXPECT_GT(audit_.lines("ring_corrupt").size(), 50u);
}

TEST_F(AuditProcess, DeniesMessagesOutOfPlace) {
  {
    start();
    ToAudit again;
    again.mutable_start();
    ASSERT_TRUE(audit_.send(again));
    auto status = audit_.wait();
    ASSERT_TRUE(status);
    EXPECT_NE(*status, 0);
  }
  {
    start();
    ToAudit flush;
    flush.mutable_flush()->set_id(1);
    UniqueFd extra(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(audit_.send(flush, {extra.get()}));
    auto status = audit_.wait();
    ASSERT_TRUE(status);
    EXPECT_NE(*status, 0);
  }
}

}  // namespace
}  // namespace sallyport::audit_writer::testing
