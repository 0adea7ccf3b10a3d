// Strong types for numbers that must not be confused.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace sallyport {

// A count of bytes. Arithmetic saturates: a budget never wraps.
struct ByteCount {
  std::uint64_t value = 0;

  static constexpr ByteCount unlimited() noexcept { return {std::numeric_limits<std::uint64_t>::max()}; }
  constexpr bool is_unlimited() const noexcept { return value == std::numeric_limits<std::uint64_t>::max(); }
  friend constexpr auto operator<=>(ByteCount, ByteCount) noexcept = default;
  friend constexpr ByteCount operator+(ByteCount a, ByteCount b) noexcept {
    std::uint64_t sum = a.value + b.value;
    return {sum < a.value ? std::numeric_limits<std::uint64_t>::max() : sum};
  }
  friend constexpr ByteCount operator-(ByteCount a, ByteCount b) noexcept {
    return {a.value > b.value ? a.value - b.value : 0};
  }
};

// A TCP or UDP port, 1 to 65535.
class Port {
 public:
  // Strict decimal: digits only, no sign, no space, no leading zero, 1 to 65535. kInvalid otherwise.
  static Result<Port> parse(std::string_view text);
  static constexpr Port of(std::uint16_t value) noexcept { return Port(value); }

  constexpr std::uint16_t value() const noexcept { return value_; }
  friend constexpr auto operator<=>(Port, Port) noexcept = default;

 private:
  constexpr explicit Port(std::uint16_t value) noexcept : value_(value) {}
  std::uint16_t value_;
};

// Strict unsigned decimal: digits only, no leading zero unless "0", no overflow. kInvalid otherwise.
Result<std::uint64_t> parse_decimal(std::string_view text);

}  // namespace sallyport
