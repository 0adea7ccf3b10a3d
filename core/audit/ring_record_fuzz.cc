// The reader of a ring whose writer is hostile: cursors, frames and records are the fuzzer's. No fault of memory, no record
// beyond its bounds, bounded work; what decodes obeys the field table.
//
// Input: 8 bytes cursor of the writer, 8 bytes cursor of the reader, the rest is laid into the ring from there on.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/audit/record.h"
#include "core/audit/ring.h"
#include "core/audit/ring_memory.h"
#include "core/audit/ring_reader.h"

namespace {

using namespace sallyport::audit;

void check(const DecodedRecord& record) {
  std::uint64_t seen = 0;
  for (const Field& field : record.all()) {
    const FieldSpec& spec = spec_of(field.id);
    if (spec.type == FieldType::kText && field.text.size() > spec.cap) std::abort();
    std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(field.id);
    if ((seen & bit) != 0) std::abort();
    seen |= bit;
  }
  if (!may_write(Origin::kProxy, record.kind)) std::abort();
}

void decode_alone(std::span<const std::byte> bytes) {
  // On the heap at its exact size, so that one byte too many is seen.
  auto copy = std::make_unique<std::byte[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  for (Origin origin : {Origin::kProxy, Origin::kControl, Origin::kAudit}) {
    auto record = decode({copy.get(), bytes.size()}, origin);
    if (record.has_value() && origin == Origin::kProxy) check(record.value());
  }
}

struct Shared {
  RingDescriptors descriptors = AuditRing::create(AuditRing::kMinSize).value();
  std::unique_ptr<RingMemory> memory = RingMemory::map(descriptors.memory.get()).value();
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  decode_alone(std::as_bytes(std::span(data, size)));
  if (size < 16 || size > 8192) return 0;
  static Shared shared;
  std::uint64_t head, tail;
  std::memcpy(&head, data, 8);
  std::memcpy(&tail, data + 8, 8);
  RingHeader& header = shared.memory->header();
  header.tail = tail;
  header.head = head;
  header.closed = 0;
  shared.memory->write(tail, data + 16, size - 16);
  auto reader = RingReader::open(shared.descriptors.duplicate().value());
  if (reader.has_error()) return 0;
  for (int records = 0;; ++records) {
    if (records > 8192) std::abort();
    auto taken = reader.value().take();
    if (taken.has_error()) {
      if (reader.value().take().has_value()) std::abort();  // for good
      break;
    }
    if (!taken.value()) break;
    decode_alone(taken.value()->bytes);
  }
  reader.value().accept();
  if (reader.value().accepted() > Sequence{head}) std::abort();
  return 0;
}
