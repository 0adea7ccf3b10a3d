// Which bytes may stand where: one table for all parsers and writers (RFC 9110 section 5.6.2, RFC 3986 section 2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sallyport::http {

enum ByteClass : std::uint8_t {
  kTokenByte = 1,   // tchar
  kValueByte = 2,   // HTAB, SP, VCHAR, obs-text
  kTargetByte = 4,  // visible ASCII but '#', '"', '<', '>', '\'; '%' only before two hexadecimal digits
  kHexByte = 8,
  kDigitByte = 16,
};

namespace internal {
constexpr std::array<std::uint8_t, 256> make_byte_classes() {
  std::array<std::uint8_t, 256> table{};
  for (unsigned c = 0; c < 256; ++c) {
    bool digit = c >= '0' && c <= '9';
    bool alpha = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    bool visible = c > 0x20 && c < 0x7f;
    std::uint8_t bits = 0;
    if (digit || alpha ||
        (visible && std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos))
      bits |= kTokenByte;
    if (visible || c == ' ' || c == '\t' || c >= 0x80) bits |= kValueByte;
    if (visible && std::string_view("#\"<>\\").find(static_cast<char>(c)) == std::string_view::npos)
      bits |= kTargetByte;
    if (digit || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) bits |= kHexByte;
    if (digit) bits |= kDigitByte;
    table[c] = bits;
  }
  return table;
}
inline constexpr std::array<std::uint8_t, 256> kByteClasses = make_byte_classes();
}  // namespace internal

constexpr bool is_byte(char c, ByteClass wanted) noexcept {
  return (internal::kByteClasses[static_cast<unsigned char>(c)] & wanted) != 0;
}

// Index of the first byte from `at` that is not of the class; text.size() if there is none.
constexpr std::size_t skip_bytes(std::string_view text, std::size_t at, ByteClass wanted) noexcept {
  while (at < text.size() && is_byte(text[at], wanted)) ++at;
  return at;
}

constexpr bool all_bytes(std::string_view text, ByteClass wanted) noexcept {
  return skip_bytes(text, 0, wanted) == text.size();
}

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

// Without surrounding SP and HTAB.
constexpr std::string_view trim_blanks(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Takes the next element off a comma-separated list (RFC 9110 section 5.6.1), trimmed, possibly empty; false at the
// end.
constexpr bool next_element(std::string_view& list, std::string_view& element) noexcept {
  if (list.data() == nullptr) return false;
  std::size_t comma = list.find(',');
  element = trim_blanks(list.substr(0, comma));
  list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  return true;
}

}  // namespace sallyport::http
