// Target: whom a connection is for, as the task meant it: a name, or an address literal. Never a mixture.
#pragma once

#include <string>
#include <variant>

#include "core/base/host_name.h"
#include "core/base/ip_address.h"
#include "core/base/units.h"

namespace sallyport::policy {

class Target {
 public:
  // Deliberately implicit: both are already canonical and checked.
  Target(HostName name) : value_(std::move(name)) {}
  Target(IpAddress address) : value_(address) {}
  // The host part of an authority (RFC 3986 section 3.2.2): a name, four decimal octets, or an IPv6 address in
  // brackets. kInvalid for anything else, among it brackets around other things, zone identifiers, '@', '%' and bytes
  // beyond ASCII.
  static Result<Target> parse(std::string_view host);

  bool is_literal() const noexcept { return std::holds_alternative<IpAddress>(value_); }
  // Null when the target is of the other kind.
  const HostName* host() const noexcept { return std::get_if<HostName>(&value_); }
  const IpAddress* address() const noexcept { return std::get_if<IpAddress>(&value_); }

  // "api.example", "192.0.2.1", "2001:db8::1" (no brackets).
  std::string text() const;
  // The same; a name is not copied, the text of an address is kept in `scratch`.
  std::string_view text(std::string& scratch) const;
  // As it stands in an authority: "api.example:80", "[2001:db8::1]:80".
  std::string authority(Port port) const;

  friend bool operator==(const Target&, const Target&) = default;

 private:
  std::variant<HostName, IpAddress> value_;
};

}  // namespace sallyport::policy
