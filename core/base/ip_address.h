// IpAddress: an IPv4 or IPv6 address as bytes, with the strict text forms. No classification here (core/net does it).
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace sallyport {

class IpAddress {
 public:
  static constexpr IpAddress v4(std::array<std::uint8_t, 4> octets) noexcept {
    IpAddress a;
    a.is_v4_ = true;
    for (std::size_t i = 0; i < 4; ++i) a.bytes_[i] = octets[i];
    return a;
  }
  static constexpr IpAddress v6(std::array<std::uint8_t, 16> octets) noexcept {
    IpAddress a;
    a.bytes_ = octets;
    return a;
  }

  // IPv4: exactly four decimal octets without leading zeros. IPv6: RFC 4291 section 2.2, without brackets and
  // without a zone identifier. Anything else is kInvalid. An IPv4-mapped IPv6 address stays IPv6.
  static Result<IpAddress> parse(std::string_view text);

  constexpr bool is_v4() const noexcept { return is_v4_; }
  // 4 or 16 bytes, network order.
  constexpr std::span<const std::uint8_t> bytes() const noexcept { return {bytes_.data(), is_v4_ ? 4u : 16u}; }
  // RFC 5952 for IPv6; no brackets.
  std::string text() const;

  friend constexpr bool operator==(const IpAddress&, const IpAddress&) noexcept = default;
  friend constexpr auto operator<=>(const IpAddress&, const IpAddress&) noexcept = default;

 private:
  constexpr IpAddress() noexcept = default;
  bool is_v4_ = false;
  std::array<std::uint8_t, 16> bytes_{};
};

// A range of addresses: those whose first `length` bits equal those of `base`.
class IpPrefix {
 public:
  // "10.0.0.0/8", "2001:db8::/32"; host bits must be zero. A plain address is a range of one. kInvalid otherwise.
  static Result<IpPrefix> parse(std::string_view text);
  // `length` at most 32 or 128; host bits of `base` are cleared.
  static IpPrefix of(IpAddress base, unsigned length) noexcept;

  bool contains(const IpAddress& address) const noexcept;
  const IpAddress& base() const noexcept { return base_; }
  unsigned length() const noexcept { return length_; }
  std::string text() const;

  friend bool operator==(const IpPrefix&, const IpPrefix&) noexcept = default;

 private:
  IpPrefix(IpAddress base, unsigned length) noexcept : base_(base), length_(length) {}
  IpAddress base_;
  unsigned length_;
};

}  // namespace sallyport

template <>
struct std::hash<sallyport::IpAddress> {
  std::size_t operator()(const sallyport::IpAddress& a) const noexcept {
    auto b = a.bytes();
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(b.data()), b.size()});
  }
};
