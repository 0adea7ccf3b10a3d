// For tests: an audit process with a ring, and what a writer puts into it.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "control/audit/audit_under_test.h"
#include "core/audit/ring_memory.h"

namespace sallyport::audit_writer::testing {
using audit::AuditRing;
using audit::FieldId;
using audit::RecordBuilder;
using audit::RecordKind;
using audit::Sequence;

inline Result<Sequence> put(AuditRing& ring, const std::string& task, std::uint64_t number) {
  RecordBuilder builder(RecordKind::kRequest, task_id(task));
  builder.text(FieldId::kVerdict, "allow").number(FieldId::kCount, number).text(FieldId::kPath, std::string(number % 90, 'p'));
  return ring.append(builder.record());
}

inline Result<Sequence> deny(AuditRing& ring, const std::string& task, const std::string& name, std::uint64_t id = 0) {
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

}  // namespace sallyport::audit_writer::testing
