// What fuzz targets assert: a property that does not hold ends the run with its text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace sallyport::http {

inline void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", property);
  std::abort();
}

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Lengths of pieces, derived from the input so that a finding repeats.
class Cuts {
 public:
  explicit Cuts(std::string_view text) noexcept {
    for (char c : text) state_ = (state_ ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  std::size_t next() noexcept {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    std::size_t bits = state_ >> 59;
    return bits < 16 ? 1 : bits;
  }

 private:
  std::uint64_t state_ = 1469598103934665603u;
};

}  // namespace sallyport::http
