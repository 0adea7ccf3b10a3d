// Methods as a set. Known are the registered ones (IANA HTTP Method Registry) and PURGE; no rule matches any other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sallyport::policy {

class MethodSet {
 public:
  constexpr MethodSet() noexcept = default;
  // Every known method except CONNECT, TRACE and PRI, which no rule can allow.
  static MethodSet all() noexcept;
  // Nothing if the method is unknown, or one that no rule can allow. Byte for byte: methods are case-sensitive.
  static std::optional<MethodSet> of(std::string_view method) noexcept;

  constexpr bool empty() const noexcept { return bits_ == 0; }
  constexpr bool holds(MethodSet other) const noexcept { return (other.bits_ & ~bits_) == 0; }
  constexpr bool meets(MethodSet other) const noexcept { return (other.bits_ & bits_) != 0; }
  constexpr void add(MethodSet other) noexcept { bits_ |= other.bits_; }
  // "GET,HEAD", in the order of the registry.
  std::string text() const;

  friend constexpr bool operator==(MethodSet, MethodSet) noexcept = default;

 private:
  constexpr explicit MethodSet(std::uint64_t bits) noexcept : bits_(bits) {}
  std::uint64_t bits_ = 0;
};

std::span<const std::string_view> known_methods() noexcept;

}  // namespace sallyport::policy
