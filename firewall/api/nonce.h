// Nonce: what ties a self-test to one attach. 128 random bits, written as 32 lower-case hexadecimal digits.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace sallyport::firewall {

struct Nonce {
  std::array<std::uint8_t, 16> bytes{};

  static Nonce random() noexcept;
  // Exactly 32 digits of 0-9a-f; kInvalid otherwise.
  static Result<Nonce> parse(std::string_view hex);
  std::string hex() const;

  friend bool operator==(const Nonce&, const Nonce&) noexcept = default;
};

}  // namespace sallyport::firewall
