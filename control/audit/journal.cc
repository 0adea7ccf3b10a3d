#include "control/audit/journal.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "control/audit_log/line.h"
#include "core/base/escape.h"

namespace sallyport::audit_writer {
namespace {

// Every byte may become six (\u0001), every key is shorter than 32.
consteval std::size_t longest_line() {
  std::size_t size = 1024;
  for (const audit::FieldSpec& spec : audit::kFields) size += 40 + 6 * std::size_t{spec.cap};
  return size;
}
static_assert(longest_line() <= audit_log::kMaxLineBytes);

void append_number(std::string& out, std::uint64_t value) {
  char digits[20];
  auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end);
}

void append_key(std::string& out, std::string_view key) {
  std::array<char, 40> piece;
  auto size = std::min(key.size(), piece.size() - 4);
  piece[0] = ',';
  piece[1] = '"';
  key.copy(piece.data() + 2, size);
  piece[size + 2] = '"';
  piece[size + 3] = ':';
  out.append(piece.data(), size + 4);
}

}  // namespace

Journal::Journal(LogFile file, audit_log::Anchor last, WallClock clock)
    : file_(std::move(file)), last_(last), clock_(clock) {
  pending_.reserve(kGroupBytes + audit_log::kMaxLineBytes);
}

void Journal::begin(audit::RecordKind kind) {
  start_ = pending_.size();
  pending_ += "{\"seq\":";
  append_number(pending_, last_.sequence + 1);
  pending_ += ",\"time\":\"";
  pending_ += time_.format(clock_());
  pending_ += '"';
  text("kind", to_string(kind));
}

void Journal::text(std::string_view key, std::string_view value, std::size_t cap) {
  append_key(pending_, key);
  pending_ += '"';
  append_json(pending_, value, cap);
  pending_ += '"';
}

void Journal::number(std::string_view key, std::uint64_t value) {
  append_key(pending_, key);
  append_number(pending_, value);
}

void Journal::ring(std::uint64_t ring) {
  static constexpr char kDigits[] = "0123456789abcdef";
  append_key(pending_, "ring");
  std::array<char, 18> text;
  text.front() = text.back() = '"';
  for (std::size_t i = 1; i <= 16; ++i) text[i] = kDigits[ring >> (64 - 4 * i) & 15];
  pending_.append(text.data(), text.size());
}

void Journal::record(const audit::DecodedRecord& record) {
  if (!record.task.empty()) text("task", record.task);
  bool cut = false;
  for (const audit::Field& field : record.all()) {
    const audit::FieldSpec& spec = audit::spec_of(field.id);
    cut |= field.cut;
    if (spec.type == audit::FieldType::kNumber) {
      number(spec.name, field.number);
    } else {
      text(spec.name, field.text, spec.cap);
    }
  }
  if (!cut) return;
  append_key(pending_, "cut");
  char before = '"';
  for (const audit::Field& field : record.all()) {
    if (!field.cut) continue;
    pending_ += before;
    pending_ += audit::spec_of(field.id).name;
    before = ' ';
  }
  pending_ += '"';
}

Journal::Made Journal::end() {
  last_.hash = audit_log::seal_line(hasher_, last_.hash, pending_, start_);
  ++last_.sequence;
  return {last_, pending_.size() - start_};
}

}  // namespace sallyport::audit_writer
