#include "control/audit/coalescer.h"

#include <algorithm>

namespace sallyport::audit_writer {
namespace {

using audit::FieldId;
using audit::RecordKind;

bool is_denial(const audit::DecodedRecord& record) {
  if (record.kind != RecordKind::kDecision && record.kind != RecordKind::kDns) return false;
  if (record.durability == audit::Durability::kStrict) return false;
  const audit::Field* verdict = record.find(FieldId::kVerdict);
  return verdict != nullptr && verdict->text == "deny";
}

// What differs between two tries of the same thing.
bool is_of_one_try(FieldId id) {
  return id == FieldId::kDecisionId || id == FieldId::kConnectionId || id == FieldId::kDurationUs ||
         id == FieldId::kBytesUp || id == FieldId::kBytesDown;
}

template <class T>
void append_bytes(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string key_of(std::uint64_t ring, const audit::DecodedRecord& record) {
  std::string key;
  key.reserve(256);
  append_bytes(key, ring);
  append_bytes(key, record.kind);
  key += record.task;
  key += '\0';
  for (const audit::Field& field : record.all()) {
    if (is_of_one_try(field.id)) continue;
    append_bytes(key, field.id);
    append_bytes(key, field.text.size());
    key += field.text;
    append_bytes(key, field.number);
  }
  return key;
}

}  // namespace

bool Coalescer::fold(std::uint64_t ring, const audit::DecodedRecord& record, std::span<const std::byte> bytes,
                     Clock::time_point now) {
  if (!is_denial(record)) return false;
  std::string key = key_of(ring, record);
  auto found = entries_.find(key);
  if (found != entries_.end()) {
    ++found->second.count;
    return true;
  }
  std::string task(record.task);
  auto [of_task, inserted] = of_task_.try_emplace(task, 0);
  if (entries_.size() >= kMaxEntries || of_task->second >= kMaxEntriesOfTask) {
    if (of_task->second == 0) of_task_.erase(of_task);
    return false;
  }
  ++of_task->second;
  auto [entry, fresh] = entries_.emplace(std::move(key), Entry{ring, std::move(task), {bytes.begin(), bytes.end()}, now + kWindow, 0, {}});
  // All windows are equally long, so the one that begins last ends last.
  entry->second.place = order_.insert(order_.end(), &entry->first);
  return false;
}

Coalescer::Entries::iterator Coalescer::forget(Entries::iterator entry) {
  auto found = of_task_.find(entry->second.task);
  if (found != of_task_.end() && --found->second == 0) of_task_.erase(found);
  order_.erase(entry->second.place);
  return entries_.erase(entry);
}

std::vector<Coalescer::Report> Coalescer::due(Clock::time_point now, std::size_t most) {
  std::vector<Report> reports;
  while (!order_.empty()) {
    auto found = entries_.find(*order_.front());
    Entry& entry = found->second;
    if (entry.ends > now) break;
    if (entry.count == 0) {
      forget(found);
      continue;
    }
    if (reports.size() >= most) break;
    reports.push_back({entry.ring, entry.record, entry.count});
    entry.count = 0;
    entry.ends = now + kWindow;
    order_.splice(order_.end(), order_, entry.place);
  }
  return reports;
}

template <class Condition>
std::vector<Coalescer::Report> Coalescer::take_if(Condition condition) {
  std::vector<Report> reports;
  for (auto it = entries_.begin(); it != entries_.end();) {
    Entry& entry = it->second;
    if (!condition(entry)) {
      ++it;
      continue;
    }
    if (entry.count != 0) reports.push_back({entry.ring, std::move(entry.record), entry.count});
    it = forget(it);
  }
  return reports;
}

std::vector<Coalescer::Report> Coalescer::take_task(std::string_view task) {
  return take_if([&](const Entry& entry) { return entry.task == task; });
}

std::vector<Coalescer::Report> Coalescer::take_ring(std::uint64_t ring) {
  return take_if([&](const Entry& entry) { return entry.ring == ring; });
}

std::vector<Coalescer::Report> Coalescer::take_all() {
  return take_if([](const Entry&) { return true; });
}

Deadline Coalescer::next() const noexcept {
  if (order_.empty()) return Deadline(Clock::time_point::max());
  return Deadline(entries_.find(*order_.front())->second.ends);
}

}  // namespace sallyport::audit_writer
