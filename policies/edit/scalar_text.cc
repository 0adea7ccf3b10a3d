#include "policies/edit/scalar_text.h"

#include <algorithm>

namespace sallyport::policy::edit {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool stands_plain(std::string_view value, Within within) {
  if (value.empty() || value.front() == ' ' || value.back() == ' ' || value.back() == ':') return false;
  if (std::string_view("-?:,[]{}#&*!|>'\"%@`=").find(value.front()) != value.npos) return false;
  if (value.find(": ") != value.npos || value.find(" #") != value.npos) return false;
  if (value.starts_with("---") || value.starts_with("...")) return false;
  // What follows a colon in braces or brackets begins a value to some readers.
  bool flow = within == Within::kFlow;
  return !flow || value.find_first_of(",[]{}") == value.npos;
}

std::string double_quoted(std::string_view value) {
  std::string out = "\"";
  for (char c : value) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (is_control(c)) {
      constexpr std::string_view kHex = "0123456789ABCDEF";
      auto byte = static_cast<unsigned char>(c);
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace

std::string scalar_text(std::string_view value, Within within) {
  if (std::ranges::any_of(value, is_control)) return double_quoted(value);
  // Characters that YAML does not print stand escaped only.
  if (value.find("\xc2\x80") != value.npos) return double_quoted(value);
  if (stands_plain(value, within)) return std::string(value);
  std::string out = "'";
  for (char c : value) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

}  // namespace sallyport::policy::edit
