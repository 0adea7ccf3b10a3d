#include "policies/engine/media_type.h"

#include <algorithm>

namespace sallyport::policy {
namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// RFC 9110 section 5.6.2.
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    bool alphanumeric = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return alphanumeric || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

void ContentType::see(std::string_view field_name, std::string_view value) noexcept {
  constexpr std::string_view kName = "content-type";
  if (!std::ranges::equal(field_name, kName, {}, lower)) return;
  if (fields_++ == 0) value_ = value;
}

std::optional<std::string> media_type_of(std::string_view value) {
  // A comma outside of quotes would be a second value in one field; inside it there is no reason for one.
  if (value.find(',') != std::string_view::npos) return std::nullopt;
  auto type = trimmed(value.substr(0, value.find(';')));
  auto slash = type.find('/');
  if (slash == std::string_view::npos || !is_token(type.substr(0, slash)) || !is_token(type.substr(slash + 1)))
    return std::nullopt;
  std::string out(type);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

}  // namespace sallyport::policy
