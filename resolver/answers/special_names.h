// Names whose meaning no policy decides (RFC 6761 and its registry, RFC 7686, RFC 9476, and Sallyport's own).
#pragma once

#include <string_view>

#include "core/base/host_name.h"

namespace sallyport::resolver {

enum class SpecialName {
  kNone,       // the policy decides
  kLocalhost,  // localhost and below: the loopback addresses
  kInternal,   // sallyport.internal: the appliance's page for the task
  kReverse,    // below in-addr.arpa or ip6.arpa
  kNowhere,    // exists nowhere for us: .local, .invalid, .onion, .alt, other .arpa, below sallyport.internal
  kDohSwitch,  // use-application-dns.net: absence tells browsers to keep to this resolver (dns-027)
  kFloor,      // a cloud's metadata service: denied whatever the policy says
};

SpecialName special_name(const HostName& name) noexcept;

inline constexpr std::string_view kInternalName = "sallyport.internal";

}  // namespace sallyport::resolver
