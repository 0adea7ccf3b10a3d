#include "firewall/api/nonce.h"

#include "core/base/random.h"

namespace sallyport::firewall {

namespace {
int digit_of(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}
}  // namespace

Nonce Nonce::random() noexcept {
  Nonce nonce;
  random_bytes(nonce.bytes);
  return nonce;
}

Result<Nonce> Nonce::parse(std::string_view hex) {
  Nonce nonce;
  if (hex.size() != 2 * nonce.bytes.size()) return fail(ErrorKind::kInvalid, "nonce: not 32 hexadecimal digits");
  for (std::size_t i = 0; i < nonce.bytes.size(); ++i) {
    int high = digit_of(hex[2 * i]), low = digit_of(hex[2 * i + 1]);
    if (high < 0 || low < 0) return fail(ErrorKind::kInvalid, "nonce: not 32 hexadecimal digits");
    nonce.bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return nonce;
}

std::string Nonce::hex() const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (std::uint8_t byte : bytes) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

}  // namespace sallyport::firewall
