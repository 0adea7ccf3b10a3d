#include "proxy/exchange/dns_over_https.h"

#include <algorithm>

namespace sallyport::proxy {
namespace {

constexpr std::string_view kMediaTypes[] = {"application/dns-message", "application/dns-json", "application/dns-udpwireformat"};
constexpr std::size_t kLeastMessage = 16;  // base64url digits of a 12-byte header

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// A media type anywhere in the value, in any case: Accept lists several, Content-Type has parameters.
bool names_dns(std::string_view value) noexcept {
  return std::ranges::any_of(kMediaTypes, [&](std::string_view type) {
    return std::ranges::search(value, type, [](char a, char b) { return lower(a) == b; }).begin() != value.end();
  });
}

bool is_base64url(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '=' || c == '%';
}

bool is_dns_parameter(std::string_view pair) {
  auto equals = pair.find('=');
  if (equals == pair.npos) return false;
  auto key = pair.substr(0, equals), value = pair.substr(equals + 1);
  // A percent sign may spell any letter of the key: what could be `dns` is treated as it.
  bool could_be_dns = key == "dns" || (key.size() <= 9 && key.find('%') != key.npos);
  return could_be_dns && value.size() >= kLeastMessage && std::ranges::all_of(value, is_base64url);
}

}  // namespace

bool is_dns_over_https(const http::Fields& fields, std::string_view query) noexcept {
  for (auto field : fields)
    if ((http::equal_ignoring_case(field.name, "content-type") || http::equal_ignoring_case(field.name, "accept")) && names_dns(field.value))
      return true;
  for (std::size_t at = 0; at <= query.size();) {
    auto end = std::min(query.find('&', at), query.size());
    if (is_dns_parameter(query.substr(at, end - at))) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace sallyport::proxy
