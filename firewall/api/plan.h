// The fixed address plan of a task's namespace. The same in every task: nothing of it is seen outside the namespace.
#pragma once

#include <cstdint>
#include <string_view>

namespace sallyport::firewall {

inline constexpr std::string_view kOwnAddress4 = "10.77.0.2";     // /32 on lo, the source of IPv4 connections
inline constexpr std::string_view kOwnAddress6 = "fd77:7370::2";  // /128 on lo, likewise for IPv6
inline constexpr std::uint16_t kExplicitProxyPort = 3128;         // on 127.0.0.1 and [::1]
inline constexpr std::uint16_t kCatchAllPort = 15001;             // on 0.0.0.0 and [::]
inline constexpr std::uint16_t kDnsPort = 53;                     // on 0.0.0.0 and [::]
inline constexpr std::string_view kTableName = "sallyport";       // nftables, family inet

}  // namespace sallyport::firewall
