#include "core/base/host_name.h"

#include <algorithm>

namespace sallyport {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

bool is_label_byte(char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_'; }

// WHATWG URL, "ends in a number": such a last label makes many parsers read the whole as IPv4.
bool reads_as_number(std::string_view label) {
  if (std::ranges::all_of(label, is_digit)) return true;
  return label.size() >= 2 && label[0] == '0' && label[1] == 'x' && std::ranges::all_of(label.substr(2), is_hex);
}

const char* label_fault(std::string_view label) {
  if (label.empty()) return "a host name has an empty label";
  if (label.size() > HostName::kMaxLabel) return "a label of a host name is longer than 63 bytes";
  if (!std::ranges::all_of(label, is_label_byte))
    return "a host name holds a byte other than letters, digits, '-', '_' and '.'";
  if (label.front() == '-' || label.back() == '-') return "a label of a host name begins or ends with '-'";
  return nullptr;
}

}  // namespace

Result<HostName> HostName::parse(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.empty()) return fail(ErrorKind::kInvalid, "a host name is empty");
  if (text.size() > kMaxLength) return fail(ErrorKind::kInvalid, "a host name is longer than 253 bytes");
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');

  std::string_view rest = lower, label;
  for (;;) {
    auto dot = rest.find('.');
    label = rest.substr(0, dot);
    if (const char* fault = label_fault(label)) return fail(ErrorKind::kInvalid, fault);
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
  if (reads_as_number(label))
    return fail(ErrorKind::kInvalid, "the last label of a host name is a number; an IPv4 address is four plain decimal octets");
  return HostName(std::move(lower));
}

bool HostName::is_below(const HostName& apex) const noexcept {
  return text_.size() > apex.text_.size() + 1 && text_.ends_with(apex.text_) &&
         text_[text_.size() - apex.text_.size() - 1] == '.';
}

}  // namespace sallyport
