// The hash chain of the audit log: each line ends with a hash over the hash before it and its own text.
//
// A line is  BODY,"hash":"HEX"}\n  where BODY begins with {"seq":N, . HEX is SHA-256(previous hash, 32 bytes || BODY).
// The hash before the first line is 32 zero bytes. Whoever can rewrite the whole file can make a new chain; what
// anchors it is a hash kept elsewhere (a receipt, a signed checkpoint).
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace sallyport::audit_log {

using Hash = std::array<std::uint8_t, 32>;

std::string to_hex(const Hash& hash);
// Exactly 64 lower-case digits; false otherwise.
bool from_hex(std::string_view text, Hash& out) noexcept;

// A place in the log: the number of a line and its hash; number 0 with the zero hash is the place before the first.
struct Anchor {
  std::uint64_t sequence = 0;
  Hash hash{};
  friend bool operator==(const Anchor&, const Anchor&) = default;
};

// SHA-256 with its algorithm fetched once: make it before confinement. One thread.
class Hasher {
 public:
  Hasher();
  void reset() noexcept;
  void add(std::span<const std::uint8_t> bytes) noexcept;
  void add(std::string_view bytes) noexcept;
  Hash finish() noexcept;

  Hash link(const Hash& previous, std::string_view body) noexcept;

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
    void operator()(EVP_MD* digest) const noexcept { EVP_MD_free(digest); }
  };
  std::unique_ptr<EVP_MD, Free> digest_;
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

}  // namespace sallyport::audit_log
