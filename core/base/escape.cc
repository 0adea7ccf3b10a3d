#include "core/base/escape.h"

#include <cstdint>

namespace sallyport {
namespace {

constexpr char kHex[] = "0123456789abcdef";

void append_hex(std::string& out, unsigned char byte) {
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

bool stands_for_itself(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

void append_unit(std::string& out, std::uint32_t unit) {
  out += "\\u";
  append_hex(out, static_cast<unsigned char>(unit >> 8));
  append_hex(out, static_cast<unsigned char>(unit & 0xff));
}

// Length of the well-formed UTF-8 sequence at `at` (RFC 3629), 0 if there is none; its scalar value in `scalar`.
std::size_t utf8_sequence(std::string_view text, std::size_t at, std::uint32_t& scalar) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char lead = byte(at);
  std::size_t length = lead >= 0xf0 && lead <= 0xf4 ? 4 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xc2 && lead < 0xe0 ? 2 : 0;
  if (length == 0 || at + length > text.size()) return 0;
  scalar = lead & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
    scalar = (scalar << 6) | (byte(at + i) & 0x3fu);
  }
  static constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  bool surrogate = scalar >= 0xd800 && scalar <= 0xdfff;
  return scalar < kLeast[length] || surrogate || scalar > 0x10ffff ? 0 : length;
}

}  // namespace

std::string escape_text(std::string_view hostile, std::size_t max) {
  std::string out;
  bool cut = hostile.size() > max;
  for (char c : hostile.substr(0, max)) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      out += "\\\\";
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      append_hex(out, byte);
    }
  }
  if (cut) out += "...";
  return out;
}

void append_json(std::string& out, std::string_view hostile, std::size_t max) {
  bool cut = hostile.size() > max;
  std::string_view text = hostile.substr(0, max);
  for (std::size_t i = 0; i < text.size();) {
    // Nearly all text stands for itself: it goes in one piece.
    std::size_t plain = i;
    while (plain < text.size() && stands_for_itself(text[plain])) ++plain;
    out.append(text, i, plain - i);
    i = plain;
    if (i == text.size()) break;
    auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[i++];
    } else if (byte < 0x20 || byte == 0x7f) {
      append_unit(out, byte);
      ++i;
    } else {
      std::uint32_t scalar = 0;
      std::size_t length = utf8_sequence(text, i, scalar);
      if (length == 0) {
        out += "\\\\x";
        append_hex(out, byte);
        ++i;
        continue;
      }
      if (scalar >= 0x10000) {
        append_unit(out, 0xd800 + ((scalar - 0x10000) >> 10));
        append_unit(out, 0xdc00 + ((scalar - 0x10000) & 0x3ff));
      } else {
        append_unit(out, scalar);
      }
      i += length;
    }
  }
  if (cut) out += "...";
}

std::string escape_json(std::string_view hostile, std::size_t max) {
  std::string out;
  append_json(out, hostile, max);
  return out;
}

}  // namespace sallyport
