#include "resolver/upstream/servers.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "core/base/escape.h"
#include "core/base/unique_fd.h"
#include "core/base/units.h"

namespace sallyport::resolver {
namespace {

constexpr std::uint16_t kDnsPort = 53;
constexpr std::size_t kMaxFile = 64 * 1024;

bool is_space(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }

// Cuts the first word off `line`.
std::string_view take_word(std::string_view& line) noexcept {
  while (!line.empty() && is_space(line.front())) line.remove_prefix(1);
  auto end = std::ranges::find_if(line, is_space);
  auto word = line.substr(0, static_cast<std::size_t>(end - line.begin()));
  line.remove_prefix(word.size());
  return word;
}

}  // namespace

Result<net::Endpoint> parse_server(std::string_view text) {
  auto wrong = [&] {
    return fail(ErrorKind::kInvalid, "DNS server \"" + escape_text(text, 100) +
                                         "\": write an address, \"192.0.2.1:53\" or \"[2001:db8::1]:53\"");
  };
  std::string_view address = text, port;
  if (text.starts_with('[')) {
    auto close = text.find(']');
    if (close == std::string_view::npos || text.substr(close + 1, 1) != ":") return wrong();
    address = text.substr(1, close - 1);
    port = text.substr(close + 2);
    if (port.empty() || address.find(':') == std::string_view::npos) return wrong();
  } else if (std::ranges::count(text, ':') == 1) {
    auto colon = text.find(':');
    address = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty()) return wrong();
  }
  auto parsed = IpAddress::parse(address);
  if (!parsed) return wrong();
  std::uint16_t number = kDnsPort;
  if (!port.empty()) {
    auto parsed_port = Port::parse(port);
    if (!parsed_port) return wrong();
    number = parsed_port.value().value();
  }
  return net::Endpoint{parsed.value(), number};
}

Result<std::vector<net::Endpoint>> parse_servers(std::span<const std::string> texts) {
  if (texts.empty()) return fail(ErrorKind::kInvalid, "no DNS server is given");
  if (texts.size() > kMaxServers)
    return fail(ErrorKind::kInvalid, "more than " + std::to_string(kMaxServers) + " DNS servers");
  std::vector<net::Endpoint> out;
  for (const std::string& text : texts) {
    BOOST_OUTCOME_TRY(auto server, parse_server(text));
    if (std::ranges::find(out, server) != out.end())
      return fail(ErrorKind::kInvalid, "DNS server " + server.text() + " is given twice");
    out.push_back(server);
  }
  return out;
}

Result<std::vector<net::Endpoint>> servers_of_resolv_conf(std::string_view text) {
  std::vector<net::Endpoint> out;
  while (!text.empty() && out.size() < kMaxServers) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (take_word(line) != "nameserver") continue;
    auto address = IpAddress::parse(take_word(line));
    if (!address) continue;
    net::Endpoint server{address.value(), kDnsPort};
    if (std::ranges::find(out, server) == out.end()) out.push_back(server);
  }
  if (out.empty()) return fail(ErrorKind::kUnavailable, "no usable nameserver line in resolv.conf");
  return out;
}

Result<std::vector<net::Endpoint>> read_resolv_conf(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("open " + path);
  std::string text(kMaxFile, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0) return fail_errno("read " + path);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return servers_of_resolv_conf(text);
}

}  // namespace sallyport::resolver
