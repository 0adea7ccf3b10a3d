// The list of upstream servers: from the appliance's configuration, or from /etc/resolv.conf.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/net/endpoint.h"

namespace sallyport::resolver {

inline constexpr std::size_t kMaxServers = 8;

// "192.0.2.1", "192.0.2.1:5353", "2001:db8::1", "[2001:db8::1]:5353"; port 53 where none is written. kInvalid
// otherwise.
Result<net::Endpoint> parse_server(std::string_view text);
// At least one, at most kMaxServers, in order, without duplicates (kInvalid).
Result<std::vector<net::Endpoint>> parse_servers(std::span<const std::string> texts);

// The `nameserver` lines of a resolv.conf(5). Lines that are not understood, and link-local addresses with a zone, are
// passed over; further ones than kMaxServers too. kUnavailable if none is left. Search lists and options are never
// used.
Result<std::vector<net::Endpoint>> servers_of_resolv_conf(std::string_view text);
// The same for a file of at most 64 KiB.
Result<std::vector<net::Endpoint>> read_resolv_conf(const std::string& path);

}  // namespace sallyport::resolver
