// The bytes of a record: a head, the task's name, then fields. Native byte order: both ends run on one host.
#pragma once

#include <cstdint>

#include "core/audit/field.h"
#include "core/audit/record.h"

namespace sallyport::audit::internal {

inline constexpr std::uint8_t kRecordVersion = 1;
inline constexpr std::size_t kMaxTask = 64;

struct RecordHead {
  std::uint8_t version;
  std::uint8_t kind;
  std::uint8_t durability;
  std::uint8_t task_size;
};

struct FieldHead {
  std::uint8_t id;
  std::uint8_t form;
  std::uint16_t size;
};

inline constexpr std::uint8_t kFormNumber = 0;
inline constexpr std::uint8_t kFormText = 1;
inline constexpr std::uint8_t kFormCutText = 2;

consteval std::size_t largest_record() {
  std::size_t size = sizeof(RecordHead) + kMaxTask;
  for (const FieldSpec& spec : kFields) {
    size += sizeof(FieldHead) + (spec.type == FieldType::kText ? spec.cap : sizeof(std::uint64_t));
  }
  return size;
}
static_assert(largest_record() <= kMaxRecordBytes, "every field at its cap must fit into one record");

}  // namespace sallyport::audit::internal
