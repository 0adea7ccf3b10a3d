#include "policies/engine/port_reader.h"

#include <algorithm>
#include <array>
#include <string>

namespace sallyport::policy {
namespace {

struct Service {
  std::string_view name;
  std::string_view port;
};
constexpr std::array kServices{Service{"http", "80"},       Service{"https", "443"},       Service{"ssh", "22"},
                               Service{"smtp", "25"},       Service{"dns", "53"},          Service{"imaps", "993"},
                               Service{"ldap", "389"},      Service{"ldaps", "636"},       Service{"mysql", "3306"},
                               Service{"postgres", "5432"}, Service{"postgresql", "5432"}, Service{"redis", "6379"},
                               Service{"mongodb", "27017"}, Service{"git", "9418"},        Service{"amqp", "5672"}};

}  // namespace

HostAndPort split_port(std::string_view authority) noexcept {
  auto bracket = authority.find(']');
  auto colon = authority.rfind(':');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket))
    return {authority, false, {}};
  if (bracket == std::string_view::npos && authority.find(':') != colon) return {authority, false, {}};
  return {authority.substr(0, colon), true, authority.substr(colon + 1)};
}

std::optional<Port> read_port(const HostAndPort& text, Scheme scheme, Position at, Reporter& reporter) {
  auto refuse = [&](std::string message, std::string advice) {
    reporter.error(at, std::move(message), text.port, std::move(advice));
    return std::nullopt;
  };
  if (!text.has_port) {
    if (auto own = default_port(scheme)) return own;
    return refuse("tcp:// has no port of its own", "the port after the host, as in tcp://db.example:5432");
  }
  if (auto port = Port::parse(text.port)) return port.value();
  auto service = std::ranges::find(kServices, text.port, &Service::name);
  if (service != kServices.end()) return refuse("a port is a number", ":" + std::string(service->port));
  if (text.port == "*") return refuse("a rule is about one port", "one rule for each port that is needed");
  if (text.port.empty()) return refuse("a colon without a port", "the port, or no colon");
  if (text.port.find_first_of("-,") != std::string_view::npos)
    return refuse("a rule is about one port, not a range or list", "one rule for each port");
  if (text.port.size() > 1 && text.port[0] == '0') {
    auto digits = text.port.substr(std::min(text.port.find_first_not_of('0'), text.port.size() - 1));
    if (Port::parse(digits)) return refuse("a port has no leading zero", ":" + std::string(digits));
  }
  return refuse("a port is a number from 1 to 65535", "a number, as in :443");
}

}  // namespace sallyport::policy
