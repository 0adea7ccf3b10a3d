// What is looked up, and what upstream says of it after the address policy has seen it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/host_name.h"
#include "core/base/ip_address.h"
#include "core/dns/protocol.h"

namespace sallyport::resolver {

inline constexpr std::size_t kMaxAddresses = 16;      // further ones are checked and dropped (dns-026)
inline constexpr std::uint32_t kMaxTtl = 60;          // seconds a positive answer is kept at most
inline constexpr std::uint32_t kMaxNegativeTtl = 10;  // and a negative or refused one

inline constexpr std::uint32_t kFailureTtl = 1;       // and what no server could answer (RFC 9520 section 3.2)

// The addresses of a name, or its records of one other type.
struct Sought {
  HostName name;
  std::optional<dns::Type> records = std::nullopt;  // a type of dns::has_record_data; none: addresses

  friend bool operator==(const Sought&, const Sought&) = default;
};

struct Resolution {
  enum class Status { kOk, kNxDomain, kNoData, kServFail, kTimedOut, kRefusedAddress, kOverloaded };
  Status status = Status::kServFail;
  // With kOk and addresses sought at least one and at most kMaxAddresses, IPv6 and IPv4 by turns.
  std::vector<IpAddress> addresses;
  std::uint32_t ttl = 0;  // seconds it may be kept; 0: use once (dns-023)
  std::string detail;     // for the operator; escaped
  std::vector<std::vector<std::uint8_t>> records = {};  // with kOk and records sought at least one: canonical RDATA
};

}  // namespace sallyport::resolver

template <>
struct std::hash<sallyport::resolver::Sought> {
  std::size_t operator()(const sallyport::resolver::Sought& sought) const noexcept {
    auto type = sought.records ? static_cast<std::size_t>(*sought.records) + 1 : 0;
    return std::hash<sallyport::HostName>{}(sought.name) ^ type * 0x9e3779b97f4a7c15u;
  }
};
