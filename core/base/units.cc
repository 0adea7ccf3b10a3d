#include "core/base/units.h"

namespace sallyport {

Result<std::uint64_t> parse_decimal(std::string_view text) {
  if (text.empty()) return fail(ErrorKind::kInvalid, "a number is missing");
  if (text.size() > 1 && text[0] == '0') return fail(ErrorKind::kInvalid, "a number has a leading zero");
  std::uint64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return fail(ErrorKind::kInvalid, "a number holds something other than digits");
    auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10)
      return fail(ErrorKind::kInvalid, "a number is too large");
    value = value * 10 + digit;
  }
  return value;
}

Result<Port> Port::parse(std::string_view text) {
  if (text.size() > 5) return fail(ErrorKind::kInvalid, "a port is a decimal number from 1 to 65535");
  auto number = parse_decimal(text);
  if (!number || number.value() == 0 || number.value() > 65535)
    return fail(ErrorKind::kInvalid, "a port is a decimal number from 1 to 65535");
  return Port(static_cast<std::uint16_t>(number.value()));
}

}  // namespace sallyport
