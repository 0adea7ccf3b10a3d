#include "policies/engine/percent.h"

namespace sallyport::policy {

std::string percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    int byte = encoded_byte(text, i);
    out += byte < 0 ? text[i] : static_cast<char>(byte);
    if (byte >= 0) i += 2;
  }
  return out;
}

std::size_t utf8_sequence(std::string_view bytes, std::size_t at, char32_t& scalar) noexcept {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  unsigned lead = byte(at);
  scalar = lead;
  if (lead < 0x80) return 1;
  std::size_t length = lead >= 0xf0 && lead <= 0xf4  ? 4
                       : lead >= 0xe0 && lead < 0xf0 ? 3
                       : lead >= 0xc2 && lead < 0xe0 ? 2
                                                     : 0;
  if (length == 0 || at + length > bytes.size()) return 0;
  scalar = lead & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0u) != 0x80) return 0;
    scalar = (scalar << 6) | (byte(at + i) & 0x3fu);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  bool surrogate = scalar >= 0xd800 && scalar <= 0xdfff;
  return scalar < kLeast[length] || surrogate || scalar > 0x10ffff ? 0 : length;
}

bool is_utf8(std::string_view bytes) noexcept {
  char32_t scalar = 0;
  for (std::size_t i = 0; i < bytes.size();) {
    std::size_t length = utf8_sequence(bytes, i, scalar);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

}  // namespace sallyport::policy
