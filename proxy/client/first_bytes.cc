#include "proxy/client/first_bytes.h"

#include <cstddef>

namespace sallyport::proxy {

constexpr std::size_t kLongestMethod = 32;

Looks classify(std::string_view bytes) noexcept {
  if (bytes.empty()) return Looks::kUnknown;
  if (bytes[0] == 0x16) return bytes.size() < 2 ? Looks::kUnknown : bytes[1] == 0x03 ? Looks::kTls : Looks::kOther;
  for (std::size_t i = 0; i < bytes.size() && i < kLongestMethod; ++i) {
    if (bytes[i] == ' ') return i > 0 ? Looks::kHttp : Looks::kOther;
    if (bytes[i] < 'A' || bytes[i] > 'Z') return Looks::kOther;
  }
  return bytes.size() >= kLongestMethod ? Looks::kOther : Looks::kUnknown;
}

}  // namespace sallyport::proxy
