#include "policies/engine/target.h"

namespace sallyport::policy {

Result<Target> Target::parse(std::string_view host) {
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) return fail(ErrorKind::kInvalid, "a bracket of a host is not closed");
    auto inside = host.substr(1, host.size() - 2);
    if (inside.find(':') == std::string_view::npos)
      return fail(ErrorKind::kInvalid, "brackets are for IPv6 addresses only");
    BOOST_OUTCOME_TRY(auto address, IpAddress::parse(inside));
    return Target(address);
  }
  if (auto address = IpAddress::parse(host); address && address.value().is_v4()) return Target(address.value());
  BOOST_OUTCOME_TRY(auto name, HostName::parse(host));
  return Target(std::move(name));
}

std::string Target::text() const {
  if (const HostName* name = host()) return std::string(name->text());
  return address()->text();
}

std::string_view Target::text(std::string& scratch) const {
  if (const HostName* name = host()) return name->text();
  scratch = text();
  return scratch;
}

std::string Target::authority(Port port) const {
  bool bracketed = address() != nullptr && !address()->is_v4();
  std::string out = bracketed ? "[" + text() + "]" : text();
  return out + ":" + std::to_string(port.value());
}

}  // namespace sallyport::policy
