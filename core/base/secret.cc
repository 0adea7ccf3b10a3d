#include "core/base/secret.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <utility>

namespace sallyport {

void wipe_memory(std::span<std::uint8_t> bytes) noexcept { OPENSSL_cleanse(bytes.data(), bytes.size()); }

Secret Secret::of_size(std::size_t size) {
  Secret secret;
  secret.bytes_ = std::make_unique<std::uint8_t[]>(size);
  secret.size_ = size;
  return secret;
}

Secret Secret::copy_of(std::span<const std::uint8_t> bytes) {
  Secret secret = of_size(bytes.size());
  std::ranges::copy(bytes, secret.bytes_.get());
  return secret;
}

Secret Secret::copy_of(std::string_view text) {
  return copy_of(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

Secret Secret::take(std::string&& text) {
  Secret secret = copy_of(std::string_view(text));
  text.resize(text.capacity());  // never reallocates; the whole allocation can then be overwritten
  OPENSSL_cleanse(text.data(), text.size());
  text.clear();
  return secret;
}

Secret::Secret(Secret&& other) noexcept : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    wipe();
    bytes_ = std::move(other.bytes_);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

bool Secret::equals(std::span<const std::uint8_t> other) const noexcept {
  if (other.size() != size_) return false;
  return size_ == 0 || CRYPTO_memcmp(bytes_.get(), other.data(), size_) == 0;
}

void Secret::wipe() noexcept {
  if (bytes_) OPENSSL_cleanse(bytes_.get(), size_);
  bytes_.reset();
  size_ = 0;
}

}  // namespace sallyport
