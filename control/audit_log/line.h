// A line of the audit log, read strictly.
//
// The log is JSON Lines, but only a part of JSON occurs in it: one flat object a line, keys of a-z, 0-9 and '_', values that
// are unsigned decimals or ASCII strings with the escapes \" \\ and \uXXXX. Nothing else is accepted, so that what a
// person sees in the log is what every program reads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "control/audit_log/chain.h"
#include "core/base/result.h"

namespace sallyport::audit_log {

// Longest line, without its newline: every field of a record at its cap and every byte escaped fits.
inline constexpr std::size_t kMaxLineBytes = 40 * 1024;

struct Member {
  std::string_view key;
  std::string_view value;  // as written: digits, or the inside of the string with its escapes
  bool is_number = false;
};

// Borrows from the text it was read from.
struct Line {
  static constexpr std::size_t kMaxMembers = 64;

  std::uint64_t sequence = 0;
  std::string_view time;
  std::string_view kind;
  std::string_view body;  // what the hash covers, besides the hash before
  Hash hash{};
  std::array<Member, kMaxMembers> members{};
  std::size_t count = 0;

  std::span<const Member> all() const noexcept { return {members.data(), count}; }
  // nullopt when absent, or of the other type.
  std::optional<std::string_view> text(std::string_view key) const noexcept;
  std::optional<std::uint64_t> number(std::string_view key) const noexcept;
};

// Reads one line without its newline. The text is untrusted. kInvalid when it is not of the form above or does not
// begin with seq, time, kind and end with hash; whether the hash is right is not looked at.
Result<Line> parse_line(std::string_view text);

// The end of every line's body: `,"hash":"` + 64 digits + `"}`.
inline constexpr std::string_view kHashKey = ",\"hash\":\"";
inline constexpr std::size_t kHashTail = kHashKey.size() + 64 + 2;

// Appends the hash that follows `previous` to the body that begins at `start` in `out`, and a newline.
Hash seal_line(Hasher& hasher, const Hash& previous, std::string& out, std::size_t start);

}  // namespace sallyport::audit_log
