#include "core/audit/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/audit/record_format.h"

namespace sallyport::audit {
namespace {

TaskId task() { return TaskId::parse("t-1").value(); }

std::vector<std::byte> bytes_of(const RecordBuilder& builder) {
  auto bytes = builder.record().bytes;
  return {bytes.begin(), bytes.end()};
}

TEST(Record, RoundTripsEveryField) {
  RecordBuilder builder(RecordKind::kDecision, task(), Durability::kStrict);
  builder.text(FieldId::kVerdict, "deny").text(FieldId::kNameAsked, "a.example").number(FieldId::kPort, 443);
  auto bytes = bytes_of(builder);
  auto decoded = decode(bytes, Origin::kProxy);
  ASSERT_TRUE(decoded.has_value());
  const DecodedRecord& record = decoded.value();
  EXPECT_EQ(record.kind, RecordKind::kDecision);
  EXPECT_EQ(record.durability, Durability::kStrict);
  EXPECT_EQ(record.task, "t-1");
  ASSERT_EQ(record.count, 3u);
  EXPECT_EQ(record.find(FieldId::kVerdict)->text, "deny");
  EXPECT_EQ(record.find(FieldId::kNameAsked)->text, "a.example");
  EXPECT_EQ(record.find(FieldId::kPort)->number, 443u);
  EXPECT_EQ(record.find(FieldId::kPath), nullptr);
}

// lifecycle-008: a value of any length is cut at the cap and the cut is marked.
TEST(Record, CutsAndMarksTextBeyondItsCap) {
  std::string megabyte(1 << 20, 'x');
  RecordBuilder builder(RecordKind::kDecision, task());
  builder.text(FieldId::kNameAsked, megabyte).text(FieldId::kSni, std::string(253, 'y'));
  auto bytes = bytes_of(builder);
  auto record = decode(bytes, Origin::kProxy).value();
  EXPECT_EQ(record.find(FieldId::kNameAsked)->text.size(), 253u);
  EXPECT_TRUE(record.find(FieldId::kNameAsked)->cut);
  EXPECT_EQ(record.find(FieldId::kSni)->text.size(), 253u);
  EXPECT_FALSE(record.find(FieldId::kSni)->cut);
}

template <std::size_t... I>
void fill(RecordBuilder& builder, const std::string& text, std::index_sequence<I...>) {
  auto one = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    if constexpr (kFields[N].type == FieldType::kText) {
      builder.text(kFields[N].id, text);
    } else {
      builder.number(kFields[N].id, ~std::uint64_t{0});
    }
  };
  (one(std::integral_constant<std::size_t, I>{}), ...);
}

TEST(Record, HoldsEveryFieldAtItsCap) {
  std::string text(4000, 'z');
  RecordBuilder builder(RecordKind::kRequest, TaskId::parse(std::string(64, 'a')).value());
  fill(builder, text, std::make_index_sequence<kFieldCount>{});
  auto bytes = bytes_of(builder);
  ASSERT_LE(bytes.size(), kMaxRecordBytes);
  EXPECT_EQ(decode(bytes, Origin::kProxy).value().count, kFieldCount);
}

// lifecycle-009: query values are masked.
TEST(Record, DropsQueryAndFragmentOfPath) {
  for (std::string target : {"/p/q?token=s3cret", "/p/q#token=s3cret", "/p/q"}) {
    RecordBuilder builder(RecordKind::kRequest, task());
    builder.text(FieldId::kPath, target);
    auto bytes = bytes_of(builder);
    EXPECT_EQ(decode(bytes, Origin::kProxy).value().find(FieldId::kPath)->text, "/p/q");
  }
}

TEST(Record, KeepsFirstValueOfFieldSetTwice) {
  RecordBuilder builder(RecordKind::kDecision, task());
  builder.text(FieldId::kVerdict, "deny").text(FieldId::kVerdict, "allow").number(FieldId::kPort, 1).number(FieldId::kPort, 2);
  auto bytes = bytes_of(builder);
  auto record = decode(bytes, Origin::kProxy).value();
  EXPECT_EQ(record.find(FieldId::kVerdict)->text, "deny");
  EXPECT_EQ(record.find(FieldId::kPort)->number, 1u);
}

TEST(Record, DeniesKindsOfAnotherSide) {
  for (unsigned kind = 1; kind <= kRecordKinds; ++kind) {
    RecordBuilder builder(static_cast<RecordKind>(kind), task());
    auto bytes = bytes_of(builder);
    for (Origin origin : {Origin::kProxy, Origin::kControl, Origin::kAudit}) {
      EXPECT_EQ(decode(bytes, origin).has_value(), may_write(origin, static_cast<RecordKind>(kind))) << kind;
    }
  }
  EXPECT_FALSE(may_write(Origin::kProxy, RecordKind::kTaskEnded));
  EXPECT_FALSE(may_write(Origin::kProxy, RecordKind::kRecovered));
  EXPECT_TRUE(may_write(Origin::kProxy, RecordKind::kDecision));
}

TEST(Record, DeniesMissingTaskExceptForErrorsAndGaps) {
  for (RecordKind kind : {RecordKind::kError, RecordKind::kGap}) {
    RecordBuilder builder(kind);
    EXPECT_TRUE(decode(bytes_of(builder), Origin::kProxy).has_value());
  }
  RecordBuilder builder(RecordKind::kDecision);
  EXPECT_FALSE(decode(bytes_of(builder), Origin::kProxy).has_value());
}

class Tampered : public testing::Test {
 protected:
  Tampered() : builder_(RecordKind::kDecision, task()) {
    builder_.text(FieldId::kVerdict, "deny").number(FieldId::kPort, 443);
    bytes_ = bytes_of(builder_);
  }
  bool accepted() const { return decode(bytes_, Origin::kProxy).has_value(); }
  void set(std::size_t at, unsigned value) { bytes_[at] = static_cast<std::byte>(value); }

  static constexpr std::size_t kFields1 = sizeof(internal::RecordHead) + 3;
  RecordBuilder builder_;
  std::vector<std::byte> bytes_;
};

TEST_F(Tampered, ControlIsAccepted) { EXPECT_TRUE(accepted()); }
TEST_F(Tampered, DeniesUnknownVersion) { set(0, 2); EXPECT_FALSE(accepted()); }
TEST_F(Tampered, DeniesKindZero) { set(1, 0); EXPECT_FALSE(accepted()); }
TEST_F(Tampered, DeniesUnknownKind) { set(1, kRecordKinds + 1); EXPECT_FALSE(accepted()); }
TEST_F(Tampered, DeniesUnknownDurability) { set(2, 2); EXPECT_FALSE(accepted()); }
TEST_F(Tampered, DeniesTaskPastTheEnd) { set(3, 255); EXPECT_FALSE(accepted()); }
TEST_F(Tampered, DeniesTaskOfAnotherForm) { set(4, '"'); EXPECT_FALSE(accepted()); }
TEST_F(Tampered, DeniesUnknownField) { set(kFields1, kFieldCount + 1); EXPECT_FALSE(accepted()); }
TEST_F(Tampered, DeniesFieldZero) { set(kFields1, 0); EXPECT_FALSE(accepted()); }
TEST_F(Tampered, DeniesTextAsNumber) { set(kFields1 + 1, internal::kFormNumber); EXPECT_FALSE(accepted()); }
TEST_F(Tampered, DeniesUnknownForm) { set(kFields1 + 1, 3); EXPECT_FALSE(accepted()); }
TEST_F(Tampered, DeniesTextBeyondItsCap) { set(kFields1 + 2, 17); EXPECT_FALSE(accepted()); }
TEST_F(Tampered, DeniesRepeatedField) {
  std::size_t second = kFields1 + sizeof(internal::FieldHead) + 4;
  set(second, static_cast<unsigned>(FieldId::kVerdict));
  EXPECT_FALSE(accepted());
}
TEST_F(Tampered, DeniesEveryTruncationInsideAField) {
  auto whole = bytes_;
  std::size_t second = kFields1 + sizeof(internal::FieldHead) + 4;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    bytes_.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(accepted(), size == kFields1 || size == second) << size;
  }
}

}  // namespace
}  // namespace sallyport::audit
