// What would have a server read another method than the request line says (X-HTTP-Method-Override and its kin).
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace sallyport::policy {

// Collects the overriding methods that the fields of one request name. Borrows the values it saw: the request's head
// must outlive it. Never allocates.
class MethodOverrides {
 public:
  static constexpr std::size_t kMax = 4;  // more in one request: no rule matches

  // To be given every field of the head, whatever its case; remembers those that matter.
  void see(std::string_view field_name, std::string_view value) noexcept;

  bool none() const noexcept { return count_ == 0; }
  bool too_many() const noexcept { return count_ > kMax; }
  std::span<const std::string_view> methods() const noexcept { return {values_.data(), count_ < kMax ? count_ : kMax}; }

 private:
  std::array<std::string_view, kMax> values_{};
  std::size_t count_ = 0;
};

// True if `encoded` (a query, or a body of type application/x-www-form-urlencoded) has a key that frameworks read as
// the method: "_method", also percent-encoded, in another case, or in a spelling that PHP maps to it.
bool names_method_key(std::string_view encoded) noexcept;

}  // namespace sallyport::policy
