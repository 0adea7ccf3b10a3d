#include "core/base/ip_address.h"

#include <arpa/inet.h>

#include <cstring>

#include "core/base/units.h"

namespace sallyport {
namespace {

Result<IpAddress> parse_v4(std::string_view text) {
  std::array<std::uint8_t, 4> octets{};
  for (std::size_t i = 0; i < 4; ++i) {
    auto dot = text.find('.');
    if ((dot == std::string_view::npos) != (i == 3))
      return fail(ErrorKind::kInvalid, "an IPv4 address is four decimal octets");
    auto octet = parse_decimal(text.substr(0, dot));
    if (!octet || octet.value() > 255) return fail(ErrorKind::kInvalid, "an IPv4 address is four decimal octets, 0 to 255, without leading zeros");
    octets[i] = static_cast<std::uint8_t>(octet.value());
    text.remove_prefix(i == 3 ? text.size() : dot + 1);
  }
  return IpAddress::v4(octets);
}

}  // namespace

Result<IpAddress> IpAddress::parse(std::string_view text) {
  if (text.find(':') == std::string_view::npos) return parse_v4(text);
  char terminated[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof terminated || text.find('\0') != std::string_view::npos)
    return fail(ErrorKind::kInvalid, "not an IPv6 address");
  std::memcpy(terminated, text.data(), text.size());
  terminated[text.size()] = '\0';
  std::array<std::uint8_t, 16> octets{};
  // inet_pton takes neither zone identifiers nor brackets nor octal in an embedded IPv4 part.
  if (inet_pton(AF_INET6, terminated, octets.data()) != 1) return fail(ErrorKind::kInvalid, "not an IPv6 address");
  return v6(octets);
}

std::string IpAddress::text() const {
  char out[INET6_ADDRSTRLEN];
  inet_ntop(is_v4_ ? AF_INET : AF_INET6, bytes_.data(), out, sizeof out);
  return out;
}

IpPrefix IpPrefix::of(IpAddress base, unsigned length) noexcept {
  auto width = static_cast<unsigned>(base.bytes().size() * 8);
  if (length > width) length = width;
  std::array<std::uint8_t, 16> kept{};
  for (unsigned bit = 0; bit < length; ++bit)
    kept[bit / 8] = static_cast<std::uint8_t>(kept[bit / 8] | (base.bytes()[bit / 8] & (0x80u >> (bit % 8))));
  if (base.is_v4()) return {IpAddress::v4({kept[0], kept[1], kept[2], kept[3]}), length};
  return {IpAddress::v6(kept), length};
}

Result<IpPrefix> IpPrefix::parse(std::string_view text) {
  auto slash = text.find('/');
  BOOST_OUTCOME_TRY(auto base, IpAddress::parse(text.substr(0, slash)));
  auto width = base.bytes().size() * 8;
  if (slash == std::string_view::npos) return IpPrefix(base, static_cast<unsigned>(width));
  auto length = parse_decimal(text.substr(slash + 1));
  if (!length || length.value() > width) return fail(ErrorKind::kInvalid, "a prefix length is a number from 0 to 32, or to 128 for IPv6");
  auto prefix = of(base, static_cast<unsigned>(length.value()));
  if (prefix.base() != base) return fail(ErrorKind::kInvalid, "bits after the prefix are set; write " + prefix.text());
  return prefix;
}

bool IpPrefix::contains(const IpAddress& address) const noexcept {
  if (address.is_v4() != base_.is_v4()) return false;
  auto a = address.bytes(), b = base_.bytes();
  unsigned whole = length_ / 8, rest = length_ % 8;
  if (std::memcmp(a.data(), b.data(), whole) != 0) return false;
  if (rest == 0) return true;
  auto mask = static_cast<std::uint8_t>(0xff00u >> rest);
  return (a[whole] & mask) == (b[whole] & mask);
}

std::string IpPrefix::text() const { return base_.text() + "/" + std::to_string(length_); }

}  // namespace sallyport
