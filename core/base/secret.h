// Secret: bytes that must not be seen: tokens, keys, passwords, their rendered forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sallyport {

// Owns its bytes alone: moves, never copies, cannot be printed, compares in constant time (the length is not hidden)
// and wipes what it held on destruction, on move-assignment and on wipe(). It does not lock pages: a process that holds
// secrets is not dumpable (sys::set_not_dumpable). Copies that a caller makes out of view() are the caller's to wipe.
class Secret {
 public:
  Secret() noexcept = default;
  // Copies `bytes`.
  static Secret copy_of(std::span<const std::uint8_t> bytes);
  static Secret copy_of(std::string_view text);
  // Copies `text` and wipes the source, its spare capacity included.
  static Secret take(std::string&& text);
  // `size` zero bytes, to be filled through writable().
  static Secret of_size(std::size_t size);

  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { wipe(); }

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  // Valid until the Secret is moved, wiped or destroyed.
  std::span<const std::uint8_t> bytes() const noexcept { return {bytes_.get(), size_}; }
  std::string_view view() const noexcept { return {reinterpret_cast<const char*>(bytes_.get()), size_}; }
  std::span<std::uint8_t> writable() noexcept { return {bytes_.get(), size_}; }

  bool equals(std::span<const std::uint8_t> other) const noexcept;
  bool equals(const Secret& other) const noexcept { return equals(other.bytes()); }
  // Overwrites and forgets the bytes.
  void wipe() noexcept;

  friend std::ostream& operator<<(std::ostream&, const Secret&) = delete;
  friend bool operator==(const Secret&, const Secret&) = delete;  // equals() says what it does

 private:
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t size_ = 0;
};

// Overwrites memory so that the compiler cannot leave it out.
void wipe_memory(std::span<std::uint8_t> bytes) noexcept;

}  // namespace sallyport
