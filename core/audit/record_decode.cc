#include <cstring>

#include "core/audit/record.h"
#include "core/audit/record_format.h"

namespace sallyport::audit {

using namespace internal;

namespace {

// Bytes not yet read. take() never reads past the end.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) noexcept : left_(bytes) {}

  bool empty() const noexcept { return left_.empty(); }
  template <class T>
  bool take(T& out) noexcept {
    if (left_.size() < sizeof(T)) return false;
    std::memcpy(&out, left_.data(), sizeof(T));
    left_ = left_.subspan(sizeof(T));
    return true;
  }
  bool take_text(std::size_t size, std::string_view& out) noexcept {
    if (left_.size() < size) return false;
    out = {reinterpret_cast<const char*>(left_.data()), size};
    left_ = left_.subspan(size);
    return true;
  }

 private:
  std::span<const std::byte> left_;
};

auto malformed(const char* what) { return fail(ErrorKind::kInvalid, what); }

bool is_task_form(std::string_view text) noexcept {
  if (text.empty() || text.size() > kMaxTask || text.front() == '-') return false;
  for (char c : text) {
    bool fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    if (!fine) return false;
  }
  return true;
}

Result<void> decode_head(Cursor& cursor, Origin origin, DecodedRecord& record) {
  RecordHead head;
  if (!cursor.take(head)) return malformed("record is shorter than its head");
  if (head.version != kRecordVersion) return malformed("record of an unknown version");
  if (head.kind < 1 || head.kind > kRecordKinds) return malformed("record of an unknown kind");
  record.kind = static_cast<RecordKind>(head.kind);
  if (!may_write(origin, record.kind)) return malformed("record of a kind that this side may not write");
  if (head.durability > static_cast<std::uint8_t>(Durability::kStrict)) return malformed("unknown durability");
  record.durability = static_cast<Durability>(head.durability);
  if (!cursor.take_text(head.task_size, record.task)) return malformed("task name runs past the record");
  bool taskless = record.kind == RecordKind::kError || record.kind == RecordKind::kGap;
  if (record.task.empty() ? !taskless : !is_task_form(record.task)) return malformed("task name of a wrong form");
  return success();
}

Result<void> decode_field(Cursor& cursor, std::uint64_t& present, Field& field) {
  FieldHead head;
  if (!cursor.take(head)) return malformed("field is shorter than its head");
  if (!is_field(head.id)) return malformed("unknown field");
  field.id = static_cast<FieldId>(head.id);
  std::uint64_t bit = std::uint64_t{1} << (head.id - 1);
  if ((present & bit) != 0) return malformed("field is repeated");
  present |= bit;
  const FieldSpec& spec = spec_of(field.id);
  if (spec.type == FieldType::kNumber) {
    if (head.form != kFormNumber || head.size != sizeof field.number) return malformed("number of a wrong form");
    if (!cursor.take(field.number)) return malformed("number runs past the record");
    return success();
  }
  if (head.form != kFormText && head.form != kFormCutText) return malformed("text of a wrong form");
  if (head.size > spec.cap) return malformed("text beyond its cap");
  field.cut = head.form == kFormCutText;
  if (!cursor.take_text(head.size, field.text)) return malformed("text runs past the record");
  return success();
}

}  // namespace

const Field* DecodedRecord::find(FieldId id) const noexcept {
  for (const Field& field : all()) {
    if (field.id == id) return &field;
  }
  return nullptr;
}

Result<DecodedRecord> decode(std::span<const std::byte> bytes, Origin origin) {
  if (bytes.size() > kMaxRecordBytes) return malformed("record is too long");
  DecodedRecord record;
  Cursor cursor(bytes);
  BOOST_OUTCOME_TRY(decode_head(cursor, origin, record));
  std::uint64_t present = 0;
  while (!cursor.empty()) {
    BOOST_OUTCOME_TRY(decode_field(cursor, present, record.fields[record.count]));
    ++record.count;  // at most kFieldCount: none is repeated
  }
  return record;
}

}  // namespace sallyport::audit
