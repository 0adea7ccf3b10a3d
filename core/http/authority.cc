#include "core/http/authority.h"

#include <charconv>

#include "core/http/syntax.h"

namespace sallyport::http {
namespace {

bool looks_like_ipv4(std::string_view host) {
  for (char c : host)
    if (!is_byte(c, kDigitByte) && c != '.') return false;
  return true;
}

Result<Host> parse_host(std::string_view text, bool bracketed) {
  if (bracketed) {
    if (text.find(':') == std::string_view::npos)
      return fail(ErrorKind::kInvalid, "brackets in an authority are for IPv6 addresses only");
    BOOST_OUTCOME_TRY(auto address, IpAddress::parse(text));
    return Host(address);
  }
  if (text.empty()) return fail(ErrorKind::kInvalid, "an authority has no host");
  if (looks_like_ipv4(text)) {
    BOOST_OUTCOME_TRY(auto address, IpAddress::parse(text));
    return Host(address);
  }
  BOOST_OUTCOME_TRY(auto name, HostName::parse(text));
  return Host(std::move(name));
}

void append_port(std::string& out, Port port) {
  char digits[8];
  auto end = std::to_chars(digits, digits + sizeof digits, port.value()).ptr;
  out += ':';
  out.append(digits, end);
}

void append_host(std::string& out, const Host& host) {
  if (const auto* name = std::get_if<HostName>(&host)) {
    out += name->text();
    return;
  }
  const auto& address = std::get<IpAddress>(host);
  if (!address.is_v4()) out += '[';
  out += address.text();
  if (!address.is_v4()) out += ']';
}

}  // namespace

Result<Authority> Authority::parse(std::string_view text) {
  bool bracketed = text.starts_with('[');
  std::string_view host, rest;
  if (bracketed) {
    std::size_t end = text.find(']');
    if (end == std::string_view::npos) return fail(ErrorKind::kInvalid, "an authority has an opening bracket only");
    host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else {
    std::size_t colon = text.find(':');
    host = text.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  std::optional<Port> port;
  if (!rest.empty()) {
    if (rest[0] != ':')
      return fail(ErrorKind::kInvalid, "something other than a port stands behind the host of an authority");
    BOOST_OUTCOME_TRY(auto parsed, Port::parse(rest.substr(1)));
    port = parsed;
  }
  BOOST_OUTCOME_TRY(auto parsed_host, parse_host(host, bracketed));
  return Authority(std::move(parsed_host), port);
}

void Authority::append_to(std::string& out) const {
  append_host(out, host_);
  if (port_) append_port(out, *port_);
}

void Authority::append_host_field(std::string& out, Port standard) const {
  append_host(out, host_);
  if (port_ && *port_ != standard) append_port(out, *port_);
}

std::string Authority::text() const {
  std::string out;
  append_to(out);
  return out;
}

std::string Authority::host_text() const {
  std::string out;
  append_host(out, host_);
  return out;
}

bool Authority::is_spelt(std::string_view text) const noexcept {
  const HostName* name = this->name();
  // Parsing an address allocates nothing, comparing its text would.
  if (name == nullptr || !text.starts_with(name->text())) return false;
  text.remove_prefix(name->text().size());
  if (!port_) return text.empty();
  char digits[8];
  auto end = std::to_chars(digits, digits + sizeof digits, port_->value()).ptr;
  return text.size() > 1 && text[0] == ':' &&
         text.substr(1) == std::string_view(digits, static_cast<std::size_t>(end - digits));
}

}  // namespace sallyport::http
