// Percent-encoding (RFC 3986 section 2.1) and the character classes of paths, in one place.
#pragma once

#include <string>
#include <string_view>

namespace sallyport::policy {

// 0 to 15, or -1.
constexpr int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// The byte that "%XX" at `at` stands for, or -1 if there are no two hexadecimal digits.
constexpr int encoded_byte(std::string_view text, std::size_t at) noexcept {
  if (at + 2 >= text.size() || text[at] != '%') return -1;
  int high = hex_value(text[at + 1]), low = hex_value(text[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// RFC 3986 section 2.3.
constexpr bool is_unreserved(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

// RFC 3986 section 3.3: what a path segment may hold besides unreserved characters and '%'.
constexpr bool is_segment_delimiter(char c) noexcept {
  return std::string_view("!$&'()*+,;=:@").find(c) != std::string_view::npos;
}

// Appends "%XX", upper-case.
inline void append_encoded(std::string& out, unsigned char byte) {
  constexpr char kHex[] = "0123456789ABCDEF";
  out += '%';
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

// One pass of decoding; '%' without two digits stays.
std::string percent_decoded(std::string_view text);

// True if `bytes` is well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view bytes) noexcept;
// The length of the well-formed sequence at `at`, 0 if there is none; its scalar value in `scalar`.
std::size_t utf8_sequence(std::string_view bytes, std::size_t at, char32_t& scalar) noexcept;

}  // namespace sallyport::policy
