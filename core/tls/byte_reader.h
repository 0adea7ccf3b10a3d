// ByteReader: bounds-checked reading of network-order integers and length-prefixed vectors. Internal to core/tls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sallyport::tls {

// A view; every read either succeeds and advances, or returns false. Borrowed bytes must outlive it.
class ByteReader {
 public:
  ByteReader() noexcept = default;
  explicit ByteReader(std::span<const std::uint8_t> bytes) noexcept : bytes_(bytes) {}

  bool empty() const noexcept { return bytes_.empty(); }
  std::size_t size() const noexcept { return bytes_.size(); }
  std::string_view text() const noexcept { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

  bool u8(std::uint8_t& out) noexcept {
    std::uint32_t value = 0;
    if (!integer(1, value)) return false;
    out = static_cast<std::uint8_t>(value);
    return true;
  }
  bool u16(std::uint16_t& out) noexcept {
    std::uint32_t value = 0;
    if (!integer(2, value)) return false;
    out = static_cast<std::uint16_t>(value);
    return true;
  }
  // The next `size` bytes as a reader of their own.
  bool sub(std::size_t size, ByteReader& out) noexcept {
    if (size > bytes_.size()) return false;
    out = ByteReader(bytes_.first(size));
    bytes_ = bytes_.subspan(size);
    return true;
  }
  // A vector with a length of one or two bytes before it.
  bool sub8(ByteReader& out) noexcept { return prefixed(1, out); }
  bool sub16(ByteReader& out) noexcept { return prefixed(2, out); }

 private:
  bool integer(std::size_t width, std::uint32_t& out) noexcept {
    if (bytes_.size() < width) return false;
    out = 0;
    for (std::size_t i = 0; i < width; ++i) out = (out << 8) | bytes_[i];
    bytes_ = bytes_.subspan(width);
    return true;
  }
  bool prefixed(std::size_t width, ByteReader& out) noexcept {
    std::uint32_t size = 0;
    return integer(width, size) && sub(size, out);
  }

  std::span<const std::uint8_t> bytes_;
};

}  // namespace sallyport::tls
