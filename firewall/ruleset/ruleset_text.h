// The nftables rules of a task's namespace, as text for libnftables. Pure.
//
// Containment does not rest on them: the namespace has no way out but our sockets. They bring every TCP connection to
// the catch-all, refuse the rest at once so that programs fail promptly instead of waiting, and count what was tried.
#pragma once

#include <string>

namespace sallyport::firewall {

enum class PacketLog { kOff, kOn };  // refused packets also go, a few a second, to NFLOG group kPacketLogGroup

inline constexpr unsigned kPacketLogGroup = 7737;

// One table, inet sallyport; everything else in the namespace is expected to be empty.
std::string ruleset_text(PacketLog log);

}  // namespace sallyport::firewall
