// The one DNS query and answer that a probe needs (RFC 1035 section 4.1). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sallyport::firewall {

// An A query for `name`, whose labels are at most 63 bytes each.
std::string dns_query(std::uint16_t id, std::string_view name);

// True if `answer` is a response to `query` with the same id and question, and says NXDOMAIN. `answer` is untrusted.
bool is_nxdomain_for(std::string_view query, std::string_view answer) noexcept;

}  // namespace sallyport::firewall
