// InputBuffer: what has been read and not yet consumed, in one contiguous piece, so that parsers work in place.
//
// Grows by doubling up to its bound and gives its memory back when idle. Views are valid until the next room(), consume() or release().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace sallyport::net {

class InputBuffer {
 public:
  // `bound`: most bytes held at once.
  explicit InputBuffer(std::size_t bound, std::size_t initial = 4096) noexcept : bound_(bound), initial_(initial) {}

  std::string_view view() const noexcept { return {data_.get() + begin_, end_ - begin_}; }
  std::size_t size() const noexcept { return end_ - begin_; }
  bool empty() const noexcept { return begin_ == end_; }
  bool full() const noexcept { return size() == bound_; }

  // Free space to read into, at least one byte unless full().
  std::span<char> room() {
    if (begin_ == end_) begin_ = end_ = 0;
    if (end_ == capacity_) make_room();
    return {data_.get() + end_, capacity_ - end_};
  }
  // Makes room for `count` more bytes, or as many as the bound allows: for whoever knows what is coming.
  void reserve(std::size_t count) {
    auto wanted = std::min(bound_, size() + count);
    if (capacity_ - begin_ < wanted) grow(wanted);
  }
  void filled(std::size_t count) noexcept { end_ += count; }
  void consume(std::size_t count) noexcept {
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  // Frees the memory if nothing is held.
  void release() noexcept {
    if (!empty()) return;
    data_.reset();
    begin_ = end_ = capacity_ = 0;
  }
  // The same, but keeps memory of the initial size: for what will soon be read into again.
  void shrink() noexcept {
    if (capacity_ > initial_) release();
  }

 private:
  void make_room() {
    if (begin_ > 0) {
      std::memmove(data_.get(), data_.get() + begin_, size());
      end_ -= begin_;
      begin_ = 0;
      return;
    }
    auto grown = std::min(bound_, std::max(initial_, capacity_ * 2));
    if (grown != capacity_) grow(grown);
  }
  void grow(std::size_t capacity) {
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    if (!empty()) std::memcpy(larger.get(), data_.get() + begin_, size());
    data_ = std::move(larger);
    end_ -= begin_;
    begin_ = 0;
    capacity_ = capacity;
  }

  std::size_t bound_, initial_;
  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace sallyport::net
