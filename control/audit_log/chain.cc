#include "control/audit_log/chain.h"

#include <cstdlib>

namespace sallyport::audit_log {

std::string to_hex(const Hash& hash) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(2 * hash.size(), '0');
  for (std::size_t i = 0; i < hash.size(); ++i) {
    text[2 * i] = kDigits[hash[i] >> 4];
    text[2 * i + 1] = kDigits[hash[i] & 15];
  }
  return text;
}

bool from_hex(std::string_view text, Hash& out) noexcept {
  if (text.size() != 2 * out.size()) return false;
  auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  for (std::size_t i = 0; i < out.size(); ++i) {
    int high = digit(text[2 * i]);
    int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return true;
}

// Without a hash there is no log: the process ends rather than write an unchained line.
Hasher::Hasher() : digest_(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context_(EVP_MD_CTX_new()) {
  if (!digest_ || !context_) std::abort();
  reset();
}

void Hasher::reset() noexcept {
  if (EVP_DigestInit_ex2(context_.get(), digest_.get(), nullptr) != 1) std::abort();
}

void Hasher::add(std::span<const std::uint8_t> bytes) noexcept {
  if (EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1) std::abort();
}

void Hasher::add(std::string_view bytes) noexcept {
  if (EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1) std::abort();
}

Hash Hasher::finish() noexcept {
  Hash hash;
  if (EVP_DigestFinal_ex(context_.get(), hash.data(), nullptr) != 1) std::abort();
  reset();
  return hash;
}

Hash Hasher::link(const Hash& previous, std::string_view body) noexcept {
  add(previous);
  add(body);
  return finish();
}

}  // namespace sallyport::audit_log
