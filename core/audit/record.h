// One audit record in its binary form, as it travels through a ring: built by RecordBuilder, read by decode().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "core/audit/field.h"
#include "core/audit/record_kind.h"
#include "core/base/ids.h"
#include "core/base/result.h"

namespace sallyport::audit {

// kStrict: the audit process waits for the disk (fdatasync) before it accepts the record.
enum class Durability : std::uint8_t { kBatched, kStrict };

// Most bytes of an encoded record. Every field at its cap fits.
inline constexpr std::size_t kMaxRecordBytes = 4096;

// A borrowed, encoded record. Valid as long as its RecordBuilder is alive and unchanged.
struct Record {
  std::span<const std::byte> bytes;
  RecordKind kind;
};

// Builds one record in a fixed buffer on the stack: no allocation, no failure. Values may be hostile; text longer
// than the field's cap is cut and marked, the query and fragment of a path are dropped. A field set twice keeps its
// first value. Not copyable: Record borrows from it.
//
//   RecordBuilder r(RecordKind::kDecision, task);
//   r.text(FieldId::kVerdict, "deny").text(FieldId::kNameAsked, authority).number(FieldId::kPort, 443);
//   BOOST_OUTCOME_TRY(auto at, ring.append(r.record()));
class RecordBuilder {
 public:
  RecordBuilder(RecordKind kind, const TaskId& task, Durability durability = Durability::kBatched) noexcept;
  // A record of a whole process: kError and kGap only.
  explicit RecordBuilder(RecordKind kind) noexcept;
  RecordBuilder(const RecordBuilder&) = delete;
  RecordBuilder& operator=(const RecordBuilder&) = delete;

  RecordBuilder& text(TextField field, std::string_view value) noexcept;
  RecordBuilder& number(NumberField field, std::uint64_t value) noexcept;

  Record record() const noexcept { return {{buffer_.data(), size_}, kind_}; }

 private:
  void begin(RecordKind kind, std::string_view task, Durability durability) noexcept;
  bool first_time(FieldId field) noexcept;
  void put(FieldId field, std::uint8_t form, const void* value, std::size_t size) noexcept;

  RecordKind kind_;
  std::size_t size_ = 0;
  std::uint64_t present_ = 0;
  std::array<std::byte, kMaxRecordBytes> buffer_;
};

// One field of a decoded record; `text` borrows from the decoded bytes and is hostile.
struct Field {
  FieldId id;
  bool cut = false;
  std::string_view text;
  std::uint64_t number = 0;
};

// A decoded record: every length checked, every field known, of its type, within its cap and not repeated.
// Borrows from the bytes it was decoded from.
struct DecodedRecord {
  RecordKind kind = RecordKind::kError;
  Durability durability = Durability::kBatched;
  std::string_view task;  // empty for kError and kGap of a whole process; else of TaskId's form
  std::array<Field, kFieldCount> fields{};
  std::size_t count = 0;

  std::span<const Field> all() const noexcept { return {fields.data(), count}; }
  // Null when absent.
  const Field* find(FieldId id) const noexcept;
};

// Reads a record that `origin` claims to have written. The bytes are untrusted and must be a private copy: memory
// that the writer can still change must not be decoded in place. kInvalid names what is wrong; it holds no text of the input.
Result<DecodedRecord> decode(std::span<const std::byte> bytes, Origin origin);

}  // namespace sallyport::audit
