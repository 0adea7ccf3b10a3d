#include "policies/engine/host_reader.h"

#include <libpsl.h>

#include <algorithm>

#include "policies/engine/floor.h"
#include "policies/engine/idn.h"

namespace sallyport::policy {
namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_beyond_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

bool is_public_suffix(const HostName& apex) {
  std::string name(apex.text());
  if (name.find('.') == std::string::npos) return true;
  return psl_is_public_suffix2(psl_builtin(), name.c_str(), PSL_TYPE_ANY) != 0;
}

bool is_mapped(const IpAddress& address) {
  auto bytes = address.bytes();
  if (address.is_v4()) return false;
  return std::all_of(bytes.begin(), bytes.begin() + 10, [](auto b) { return b == 0; }) && bytes[10] == 0xff &&
         bytes[11] == 0xff;
}

class HostReading {
 public:
  HostReading(const HostText& host, Reporter& reporter) : host_(host), reporter_(reporter) {}

  std::optional<HostPattern> read() {
    std::string_view text = host_.text;
    if (text.empty()) return refuse("the host is missing", "the host after ://");
    if (text.find('@') != text.npos) return refuse("a destination has no user or password", "the host alone");
    if (text.find('%') != text.npos)
      return refuse("a host is not percent-encoded, and an address has no zone", "the host as it is");
    if (text.starts_with('[') || text.find(':') != text.npos) return v6(text);
    if (auto address = IpAddress::parse(text)) return literal(address.value());
    if (text == "*" || text == "**")
      return refuse("'*' alone would be every host", "the hosts that are needed, or '*.' and a domain of yours");
    if (text.starts_with("*.")) return wildcard(text.substr(2));
    if (text.find('*') != text.npos)
      return refuse("in a host '*' stands only at the beginning, before a dot",
                    "*.example.com for any depth below example.com");
    auto name = read_name(text, "");
    if (!name || refused_name(*name)) return std::nullopt;
    return HostPattern::exactly(Target(*std::move(name)));
  }

 private:
  std::nullopt_t refuse(std::string message, std::string advice) {
    reporter_.error(host_.at, std::move(message), host_.text, std::move(advice));
    return std::nullopt;
  }

  std::optional<HostPattern> v6(std::string_view text) {
    bool bracketed = text.starts_with('[') && text.ends_with(']');
    auto address = IpAddress::parse(bracketed ? text.substr(1, text.size() - 2) : text);
    if (!address || address.value().is_v4())
      return refuse("brackets and colons are for IPv6 addresses only", "a name, 192.0.2.1 or [2001:db8::1]");
    if (!bracketed) return refuse("an IPv6 address stands in brackets", "[" + address.value().text() + "]");
    return literal(address.value());
  }

  std::optional<HostPattern> literal(const IpAddress& address) {
    if (host_.scheme == Scheme::kTls)
      return refuse("tls:// checks the server's name, and an address has none",
                    "tcp://" + HostPattern::exactly(Target(address)).text() + ":443");
    if (is_mapped(address)) return refuse("an IPv4 address in IPv6 clothes never matches", "the IPv4 address");
    if (host_.action == Action::kAllow && policy::is_floor(address))
      return refuse("this address is a cloud metadata service, which nothing opens", "the policy without this rule");
    return HostPattern::exactly(Target(address));
  }

  std::optional<HostPattern> wildcard(std::string_view rest) {
    if (rest.find('*') != rest.npos)
      return refuse("in a host '*' stands once, at the beginning", "*.example.com for any depth below example.com");
    auto apex = read_name(rest, "*.");
    if (!apex || refused_name(*apex)) return std::nullopt;
    if (host_.action == Action::kAllow && is_public_suffix(*apex))
      return refuse("anyone can have a name below '" + std::string(apex->text()) + "': it is a public suffix",
                    "the names that are needed, or '*.' and a domain of one owner");
    return HostPattern::below(*std::move(apex));
  }

  std::optional<HostName> read_name(std::string_view text, std::string_view prefix) {
    std::string converted;
    if (std::ranges::any_of(text, is_beyond_ascii)) {
      auto ascii = to_a_labels(text);
      if (!ascii) return refuse(ascii.error().detail, "the name in its xn-- form");
      converted = std::move(ascii).value();
      reporter_.note(host_.at, "the host is read as " + std::string(prefix) + converted, host_.text);
      text = converted;
    } else if (std::ranges::any_of(text, is_upper)) {
      return refuse("a host is written in lower case", std::string(prefix) + lower(text));
    }
    if (text.ends_with('.'))
      return refuse("a host has no dot at its end", std::string(prefix) + std::string(text.substr(0, text.size() - 1)));
    auto name = HostName::parse(text);
    if (!name) return refuse(name.error().detail, "a name such as api.example.com, or an address such as 192.0.2.1");
    return std::move(name).value();
  }

  bool refused_name(const HostName& name) {
    if (host_.action == Action::kDeny) return false;
    if (is_own_name(name))
      return refuse("sallyport.internal is answered inside every task and needs no rule",
                    "the policy without this rule"),
             true;
    if (policy::is_floor(name))
      return refuse("this is a cloud metadata service, which nothing opens", "the policy without this rule"), true;
    if (is_never_resolved(name))
      return refuse("this name never leaves the task, so the rule could never match", "the policy without this rule"),
             true;
    return false;
  }

  const HostText& host_;
  Reporter& reporter_;
};

}  // namespace

std::optional<HostPattern> read_host(const HostText& host, Reporter& reporter) {
  return HostReading(host, reporter).read();
}

}  // namespace sallyport::policy
