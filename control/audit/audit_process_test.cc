// The audit process as its neighbours see it: real rings, a real log file, a process of its own.
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include <random>

#include "control/audit/audit_under_test.h"
#include "core/audit/ring_memory.h"
#include "core/sys/privileges.h"

namespace sallyport::audit_writer::testing {
namespace {

using audit::AuditRing;
using audit::FieldId;
using audit::RecordBuilder;
using audit::RecordKind;
using audit::Sequence;

Result<Sequence> put(AuditRing& ring, const std::string& task, std::uint64_t number) {
  RecordBuilder builder(RecordKind::kRequest, task_id(task));
  builder.text(FieldId::kVerdict, "allow").number(FieldId::kCount, number).text(FieldId::kPath, std::string(number % 90, 'p'));
  return ring.append(builder.record());
}

Result<Sequence> deny(AuditRing& ring, const std::string& task, const std::string& name, std::uint64_t id = 0) {
  RecordBuilder builder(RecordKind::kDecision, task_id(task));
  builder.text(FieldId::kVerdict, "deny").text(FieldId::kReason, "no_rule").text(FieldId::kNameAsked, name);
  builder.text(FieldId::kDecisionId, std::to_string(id)).number(FieldId::kPort, 443);
  return ring.append(builder.record());
}

class AuditProcess : public ::testing::Test {
 protected:
  AuditProcess() : audit_(directory_ / "audit.log"), descriptors_(AuditRing::create(AuditRing::kMinSize).value()) {}

  void start() { ASSERT_TRUE(audit_.start()); }
  void start_with_ring() {
    start();
    ASSERT_EQ(audit_.register_ring(7, descriptors_, {"t-1"}), "");
  }
  std::uint64_t denials_accounted_for() const {
    std::uint64_t sum = audit_.lines("decision").size();
    for (const auto& line : audit_.lines("coalesced")) sum += line["repeated"].get<std::uint64_t>();
    return sum;
  }
  // Sends records until `told` says that something has happened and the ring has stood full and still since. The number sent.
  static std::uint64_t fill(AuditUnderTest& audit, AuditRing& ring, std::uint64_t number, std::optional<FromAudit>& told) {
    Deadline deadline = Deadline::after(std::chrono::seconds(30));
    Sequence seen = ring.accepted();
    while (!deadline.passed(Clock::now())) {
      if (put(ring, "t-1", number).has_value()) {
        ++number;
        continue;
      }
      if (!told) told = audit.receive(Deadline::after(std::chrono::milliseconds(1)));
      accepted(ring, std::chrono::milliseconds(told ? 400 : 5));
      if (told && std::exchange(seen, ring.accepted()) == ring.accepted()) return number;
    }
    ADD_FAILURE() << "nothing stops the ring";
    return number;
  }
  AuditRing writer() { return AuditRing::open(descriptors_.duplicate().value()).value(); }
  void expect_sound(std::uint64_t records) {
    auto report = audit_.verify();
    EXPECT_TRUE(report.sound()) << audit_log::render_text(report);
    EXPECT_EQ(report.records, records);
  }

  TemporaryDirectory directory_;
  AuditUnderTest audit_;
  audit::RingDescriptors descriptors_;
};

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
