#include <cstring>

#include "core/audit/record.h"
#include "core/audit/record_format.h"

namespace sallyport::audit {

using namespace internal;

RecordBuilder::RecordBuilder(RecordKind kind, const TaskId& task, Durability durability) noexcept {
  begin(kind, task.text(), durability);
}

RecordBuilder::RecordBuilder(RecordKind kind) noexcept { begin(kind, {}, Durability::kBatched); }

void RecordBuilder::begin(RecordKind kind, std::string_view task, Durability durability) noexcept {
  static_assert(kMaxTask == 64, "TaskId's longest form");
  kind_ = kind;
  RecordHead head{kRecordVersion, static_cast<std::uint8_t>(kind), static_cast<std::uint8_t>(durability),
                  static_cast<std::uint8_t>(task.size())};
  std::memcpy(buffer_.data(), &head, sizeof head);
  if (!task.empty()) std::memcpy(buffer_.data() + sizeof head, task.data(), task.size());
  size_ = sizeof head + task.size();
}

bool RecordBuilder::first_time(FieldId field) noexcept {
  std::uint64_t bit = std::uint64_t{1} << (static_cast<unsigned>(field) - 1);
  if ((present_ & bit) != 0) return false;
  present_ |= bit;
  return true;
}

void RecordBuilder::put(FieldId field, std::uint8_t form, const void* value, std::size_t size) noexcept {
  FieldHead head{static_cast<std::uint8_t>(field), form, static_cast<std::uint16_t>(size)};
  std::memcpy(buffer_.data() + size_, &head, sizeof head);
  if (size != 0) std::memcpy(buffer_.data() + size_ + sizeof head, value, size);
  size_ += sizeof head + size;
}

RecordBuilder& RecordBuilder::text(TextField field, std::string_view value) noexcept {
  FieldId id = field.id();
  if (!first_time(id)) return *this;
  // Query values are not logged: whoever hands over a whole request target still leaves no trace of them.
  if (id == FieldId::kPath) value = value.substr(0, value.find_first_of("?#"));
  std::size_t cap = spec_of(id).cap;
  bool cut = value.size() > cap;
  put(id, cut ? kFormCutText : kFormText, value.data(), cut ? cap : value.size());
  return *this;
}

RecordBuilder& RecordBuilder::number(NumberField field, std::uint64_t value) noexcept {
  if (first_time(field.id())) put(field.id(), kFormNumber, &value, sizeof value);
  return *this;
}

}  // namespace sallyport::audit
