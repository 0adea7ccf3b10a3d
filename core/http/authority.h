// Authority: whom a request is for, host and optional port, in canonical form (RFC 3986 section 3.2, RFC 9110
// section 7.2).
//
// The one reading of CONNECT targets, absolute-form targets and Host fields. Input is untrusted. Strict: no user
// information, no percent sign, no zone identifier, no brackets but around an IPv6 address, no empty or odd port; the
// host is exactly what core/base accepts as HostName (lower-cased, one trailing dot dropped) or IpAddress (four plain
// decimal octets).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/host_name.h"
#include "core/base/ip_address.h"
#include "core/base/result.h"
#include "core/base/units.h"

namespace sallyport::http {

using Host = std::variant<HostName, IpAddress>;

class Authority {
 public:
  Authority(Host host, std::optional<Port> port) : host_(std::move(host)), port_(port) {}

  // kInvalid with the reason for anything but host or host:port.
  static Result<Authority> parse(std::string_view text);

  const Host& host() const noexcept { return host_; }
  // Null when the host is an address literal / a name.
  const HostName* name() const noexcept { return std::get_if<HostName>(&host_); }
  const IpAddress* address() const noexcept { return std::get_if<IpAddress>(&host_); }
  // As written; nullopt when none was.
  std::optional<Port> port() const noexcept { return port_; }
  Port port_or(Port standard) const noexcept { return port_.value_or(standard); }
  // Gives it the port of a connection, where the text had none.
  void set_port(std::optional<Port> port) noexcept { port_ = port; }

  // Canonical text, brackets around IPv6; the port only when there is one. Appended to `out`.
  void append_to(std::string& out) const;
  // The value of a Host field: the port is left out when it is `standard`.
  void append_host_field(std::string& out, Port standard) const;
  std::string text() const;
  std::string host_text() const;

  // True if parsing `text` would give this very authority and `text` is already canonical. Never allocates.
  bool is_spelt(std::string_view text) const noexcept;
  // Same host, and same port where an absent one means `standard`.
  bool same_as(const Authority& other, Port standard) const noexcept {
    return host_ == other.host_ && port_or(standard) == other.port_or(standard);
  }
  friend bool operator==(const Authority&, const Authority&) = default;

 private:
  Host host_;
  std::optional<Port> port_;
};

}  // namespace sallyport::http
