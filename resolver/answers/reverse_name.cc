#include "resolver/answers/reverse_name.h"

#include <array>

#include "core/base/units.h"

namespace sallyport::resolver {
namespace {

constexpr std::string_view kV4 = ".in-addr.arpa", kV6 = ".ip6.arpa";

std::optional<IpAddress> reverse_v4(std::string_view labels) noexcept {
  std::array<std::uint8_t, 4> octets{};
  for (std::size_t i = 4; i-- > 0;) {
    auto dot = labels.find('.');
    if ((dot == std::string_view::npos) != (i == 0)) return std::nullopt;
    auto octet = parse_decimal(labels.substr(0, dot));
    if (!octet || octet.value() > 255) return std::nullopt;
    octets[i] = static_cast<std::uint8_t>(octet.value());
    labels.remove_prefix(i == 0 ? labels.size() : dot + 1);
  }
  return IpAddress::v4(octets);
}

int nibble(char c) noexcept { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

std::optional<IpAddress> reverse_v6(std::string_view labels) noexcept {
  if (labels.size() != 63) return std::nullopt;
  std::array<std::uint8_t, 16> octets{};
  for (std::size_t i = 0; i < 32; ++i) {
    int value = nibble(labels[2 * i]);
    if (value < 0 || (i < 31 && labels[2 * i + 1] != '.')) return std::nullopt;
    auto& octet = octets[15 - i / 2];
    octet = static_cast<std::uint8_t>(octet | (value << (i % 2 == 0 ? 0 : 4)));
  }
  return IpAddress::v6(octets);
}

}  // namespace

std::optional<IpAddress> reverse_address(const HostName& name) noexcept {
  std::string_view text = name.text();
  if (text.ends_with(kV4)) return reverse_v4(text.substr(0, text.size() - kV4.size()));
  if (text.ends_with(kV6)) return reverse_v6(text.substr(0, text.size() - kV6.size()));
  return std::nullopt;
}

}  // namespace sallyport::resolver
