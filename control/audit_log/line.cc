#include "control/audit_log/line.h"

#include "core/base/units.h"

namespace sallyport::audit_log {
namespace {

auto malformed(const char* what) { return fail(ErrorKind::kInvalid, what); }

bool is_hex(char c) noexcept { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// Reads tokens off the front of a line.
class Scanner {
 public:
  explicit Scanner(std::string_view text) noexcept : left_(text) {}

  bool done() const noexcept { return left_.empty(); }
  bool take(char c) noexcept {
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }

  // The inside of a string, up to and including its closing quote.
  bool take_string(std::string_view& out) noexcept {
    if (!take('"')) return false;
    std::size_t i = 0;
    while (i < left_.size() && left_[i] != '"') {
      if (left_[i] < 0x20 || left_[i] > 0x7e) return false;
      std::size_t length = left_[i] == '\\' ? escape_at(i) : 1;
      if (length == 0) return false;
      i += length;
    }
    if (i >= left_.size()) return false;
    out = left_.substr(0, i);
    left_.remove_prefix(i + 1);
    return true;
  }

  bool take_number(std::string_view& out) noexcept {
    std::size_t i = 0;
    while (i < left_.size() && left_[i] >= '0' && left_[i] <= '9') ++i;
    if (i == 0 || i > 20 || (i > 1 && left_[0] == '0')) return false;
    out = left_.substr(0, i);
    left_.remove_prefix(i);
    return true;
  }

 private:
  std::size_t escape_at(std::size_t at) const noexcept {
    if (at + 1 >= left_.size()) return 0;
    char c = left_[at + 1];
    if (c == '"' || c == '\\') return 2;
    if (c != 'u' || at + 6 > left_.size()) return 0;
    for (std::size_t i = at + 2; i < at + 6; ++i) {
      if (!is_hex(left_[i])) return 0;
    }
    return 6;
  }

  std::string_view left_;
};

bool is_key(std::string_view key) noexcept {
  if (key.empty() || key.size() > 32) return false;
  for (char c : key) {
    if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_') return false;
  }
  return true;
}

Result<void> take_member(Scanner& scanner, Line& line) {
  Member member;
  if (!scanner.take_string(member.key) || !is_key(member.key)) return malformed("not a key of the log");
  if (!scanner.take(':')) return malformed("a key without a value");
  member.is_number = !scanner.take_string(member.value);
  if (member.is_number && !scanner.take_number(member.value)) return malformed("not a value of the log");
  for (const Member& other : line.all()) {
    if (other.key == member.key) return malformed("a key is repeated");
  }
  if (line.count == Line::kMaxMembers) return malformed("too many keys");
  line.members[line.count++] = member;
  return success();
}

Result<void> take_frame(Line& line) {
  if (line.count < 4) return malformed("too few keys");
  const Member& seq = line.members[0];
  const Member& time = line.members[1];
  const Member& kind = line.members[2];
  const Member& hash = line.members[line.count - 1];
  if (seq.key != "seq" || !seq.is_number) return malformed("does not begin with seq");
  BOOST_OUTCOME_TRY(line.sequence, parse_decimal(seq.value));
  if (time.key != "time" || time.is_number) return malformed("no time after seq");
  if (kind.key != "kind" || kind.is_number) return malformed("no kind after time");
  if (hash.key != "hash" || hash.is_number || !from_hex(hash.value, line.hash)) return malformed("does not end with a hash");
  line.time = time.value;
  line.kind = kind.value;
  return success();
}

}  // namespace

std::optional<std::string_view> Line::text(std::string_view key) const noexcept {
  for (const Member& member : all()) {
    if (member.key == key && !member.is_number) return member.value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Line::number(std::string_view key) const noexcept {
  for (const Member& member : all()) {
    if (member.key != key || !member.is_number) continue;
    auto value = parse_decimal(member.value);
    if (value.has_value()) return value.value();
  }
  return std::nullopt;
}

Result<Line> parse_line(std::string_view text) {
  if (text.size() > kMaxLineBytes) return malformed("line is too long");
  Line line;
  Scanner scanner(text);
  if (!scanner.take('{')) return malformed("not an object");
  do {
    BOOST_OUTCOME_TRY(take_member(scanner, line));
  } while (scanner.take(','));
  if (!scanner.take('}')) return malformed("the object does not end");
  if (!scanner.done()) return malformed("text after the object");
  BOOST_OUTCOME_TRY(take_frame(line));
  line.body = text.substr(0, text.size() - kHashTail);
  return line;
}

Hash seal_line(Hasher& hasher, const Hash& previous, std::string& out, std::size_t start) {
  Hash hash = hasher.link(previous, std::string_view(out).substr(start));
  out += kHashKey;
  out += to_hex(hash);
  out += "\"}\n";
  return hash;
}

}  // namespace sallyport::audit_log
