// Reading and writing of big-endian numbers, with bounds. Used inside core/dns only.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace sallyport::dns {

// Reads forward through a message. A read past the end gives nothing and leaves the position.
class WireReader {
 public:
  explicit WireReader(std::span<const std::uint8_t> message, std::size_t at = 0) noexcept
      : message_(message), at_(at) {}

  std::optional<std::uint16_t> u16() noexcept {
    if (left() < 2) return std::nullopt;
    auto value = static_cast<std::uint16_t>(message_[at_] << 8 | message_[at_ + 1]);
    at_ += 2;
    return value;
  }
  std::optional<std::uint32_t> u32() noexcept {
    if (left() < 4) return std::nullopt;
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | message_[at_++];
    return value;
  }
  std::optional<std::span<const std::uint8_t>> take(std::size_t size) noexcept {
    if (left() < size) return std::nullopt;
    auto bytes = message_.subspan(at_, size);
    at_ += size;
    return bytes;
  }
  std::size_t left() const noexcept { return message_.size() - at_; }
  std::span<const std::uint8_t> message() const noexcept { return message_; }
  // For Name::read: the position, to be moved by it.
  std::size_t& position() noexcept { return at_; }

 private:
  std::span<const std::uint8_t> message_;
  std::size_t at_;
};

// Appends to a buffer of fixed size. A write that does not fit writes nothing and makes ok() false for good.
class WireWriter {
 public:
  explicit WireWriter(std::span<std::uint8_t> out) noexcept : out_(out) {}

  void u16(std::uint16_t value) noexcept {
    const std::uint8_t bytes[] = {static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value & 0xff)};
    raw(bytes);
  }
  void u32(std::uint32_t value) noexcept {
    u16(static_cast<std::uint16_t>(value >> 16));
    u16(static_cast<std::uint16_t>(value & 0xffff));
  }
  void raw(std::span<const std::uint8_t> bytes) noexcept {
    if (!ok_ || out_.size() - size_ < bytes.size()) {
      ok_ = false;
      return;
    }
    if (!bytes.empty()) std::memcpy(out_.data() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  bool ok() const noexcept { return ok_; }
  std::size_t size() const noexcept { return size_; }

 private:
  std::span<std::uint8_t> out_;
  std::size_t size_ = 0;
  bool ok_ = true;
};

// Bits of the second header word.
namespace header {
inline constexpr std::uint16_t kResponse = 0x8000;
inline constexpr std::uint16_t kTruncated = 0x0200;
inline constexpr std::uint16_t kRecursionDesired = 0x0100;
inline constexpr std::uint16_t kRecursionAvailable = 0x0080;
inline constexpr std::uint16_t kZero = 0x0040;
inline constexpr std::uint16_t kCheckingDisabled = 0x0010;
inline constexpr std::uint16_t kRcode = 0x000f;
inline constexpr std::uint8_t opcode(std::uint16_t flags) noexcept { return (flags >> 11) & 0xf; }
}  // namespace header

// The DO bit in the TTL field of an OPT record.
inline constexpr std::uint32_t kDnssecOk = 0x8000;

}  // namespace sallyport::dns
