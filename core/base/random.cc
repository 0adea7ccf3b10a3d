#include "core/base/random.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdlib>

namespace sallyport {

void random_bytes(std::span<std::uint8_t> out) noexcept {
  while (!out.empty()) {
    ssize_t got = getrandom(out.data(), out.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) std::abort();
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::uint64_t random_u64() noexcept {
  std::uint64_t value = 0;
  random_bytes({reinterpret_cast<std::uint8_t*>(&value), sizeof value});
  return value;
}

std::string random_hex(std::size_t bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::array<std::uint8_t, 64> raw{};
  if (bytes > raw.size()) bytes = raw.size();
  random_bytes({raw.data(), bytes});
  std::string text;
  text.reserve(bytes * 2);
  for (std::size_t i = 0; i < bytes; ++i) {
    text += kHex[raw[i] >> 4];
    text += kHex[raw[i] & 15];
  }
  return text;
}

}  // namespace sallyport
