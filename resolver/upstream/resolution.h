// Resolution: what upstream says of a name, after the address policy has seen it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ip_address.h"

namespace sallyport::resolver {

inline constexpr std::size_t kMaxAddresses = 16;      // further ones are checked and dropped (dns-026)
inline constexpr std::uint32_t kMaxTtl = 60;          // seconds a positive answer is kept at most
inline constexpr std::uint32_t kMaxNegativeTtl = 10;  // and a negative or refused one

struct Resolution {
  enum class Status { kOk, kNxDomain, kNoData, kServFail, kTimedOut, kRefusedAddress, kOverloaded };
  Status status = Status::kServFail;
  std::vector<IpAddress> addresses;  // with kOk at least one and at most kMaxAddresses, IPv6 and IPv4 by turns
  std::uint32_t ttl = 0;             // seconds it may be kept; 0: use once (dns-023)
  std::string detail;                // for the operator; escaped
};

}  // namespace sallyport::resolver
