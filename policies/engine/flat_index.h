// FlatIndex: numbers found by a hash, in one flat array. What the numbers stand for, and whether it is the one that is looked
// for, the caller knows. Never shrinks; at most 2^31 numbers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace sallyport::policy {

// A hash that is taken from the end of a text, so that those of all its suffixes come of one walk.
class SuffixHash {
 public:
  constexpr void prepend(char c) noexcept {
    state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;  // FNV-1a
  }
  constexpr std::uint64_t value() const noexcept {
    std::uint64_t h = state_ ^ (state_ >> 29);
    h *= 0xbf58476d1ce4e5b9;
    return h ^ (h >> 32);
  }
  static constexpr std::uint64_t of(std::string_view text) noexcept {
    SuffixHash hash;
    for (auto at = text.size(); at-- > 0;) hash.prepend(text[at]);
    return hash.value();
  }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325;
};

class FlatIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  void reserve(std::size_t numbers) {
    std::size_t size = kLeast;
    while (size < numbers * 2) size *= 2;
    if (size > slots_.size()) grow(size);
  }
  // The first number under this hash that `is` says yes to, or kNone.
  template <class Is>
  std::uint32_t find(std::uint64_t hash, Is is) const {
    if (used_ == 0) return kNone;
    for (std::size_t at = hash & mask(); slots_[at].number != kNone; at = (at + 1) & mask())
      if (slots_[at].check == check_of(hash) && is(slots_[at].number)) return slots_[at].number;
    return kNone;
  }
  void insert(std::uint64_t hash, std::uint32_t number) {
    if ((used_ + 1) * 2 > slots_.size()) grow(slots_.empty() ? kLeast : slots_.size() * 2);
    place({hash, check_of(hash), number});
    ++used_;
  }
  bool empty() const noexcept { return used_ == 0; }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t check = 0;
    std::uint32_t number = kNone;
  };
  static constexpr std::size_t kLeast = 16;

  static std::uint32_t check_of(std::uint64_t hash) noexcept { return static_cast<std::uint32_t>(hash >> 32); }
  std::size_t mask() const noexcept { return slots_.size() - 1; }
  void place(const Slot& slot) {
    std::size_t at = slot.hash & mask();
    while (slots_[at].number != kNone) at = (at + 1) & mask();
    slots_[at] = slot;
  }
  void grow(std::size_t size) {
    std::vector<Slot> old(size);
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.number != kNone) place(slot);
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace sallyport::policy
