#include "policies/engine/method_override.h"

#include <algorithm>

#include "policies/engine/percent.h"

namespace sallyport::policy {
namespace {

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view trimmed(std::string_view value) noexcept {
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
  return value;
}

// CGI and its descendants read '_' in a field name as '-'.
bool is_override_field(std::string_view name) noexcept {
  if (name.size() < 13 || name.size() > 22) return false;
  char plain[22];
  std::ranges::transform(name, plain, [](char c) { return c == '_' ? '-' : lower(c); });
  std::string_view field(plain, name.size());
  return field == "x-http-method-override" || field == "x-http-method" || field == "x-method-override";
}

// PHP drops leading spaces of a key and reads '.' and ' ' as '_'; "key[…]" is the key.
bool is_method_key(std::string_view encoded_key) noexcept {
  char decoded[8];
  std::size_t length = 0;
  for (std::size_t i = 0; i < encoded_key.size(); ++i) {
    int byte = encoded_byte(encoded_key, i);
    char c = byte < 0 ? encoded_key[i] : static_cast<char>(byte);
    if (byte >= 0) i += 2;
    if (c == '+') c = ' ';
    if (c == '[' || c == '\0') break;
    if (length == 0 && c == ' ') continue;
    if (length == sizeof decoded) return false;
    decoded[length++] = c == '.' || c == ' ' ? '_' : lower(c);
  }
  return std::string_view(decoded, length) == "_method";
}

}  // namespace

void MethodOverrides::see(std::string_view field_name, std::string_view value) noexcept {
  if (!is_override_field(field_name)) return;
  if (count_ < kMax) values_[count_] = trimmed(value);
  if (count_ <= kMax) ++count_;
}

bool names_method_key(std::string_view encoded) noexcept {
  while (!encoded.empty()) {
    auto end = encoded.find_first_of("&;");
    auto pair = encoded.substr(0, end);
    if (is_method_key(pair.substr(0, pair.find('=')))) return true;
    if (end == std::string_view::npos) return false;
    encoded.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace sallyport::policy
