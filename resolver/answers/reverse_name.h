// Reverse names: RFC 1035 section 3.5, RFC 3596 section 2.5.
#pragma once

#include <optional>

#include "core/base/host_name.h"
#include "core/base/ip_address.h"

namespace sallyport::resolver {

// The address that a name of exactly 4 labels below in-addr.arpa, or 32 below ip6.arpa, stands for. Octets and nibbles
// in canonical form only; nothing for any other name.
std::optional<IpAddress> reverse_address(const HostName& name) noexcept;

}  // namespace sallyport::resolver
