// Packet filters of the namespace the process is in: nftables tables of every family, and legacy iptables tables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace sallyport::firewall {

struct FilterTable {
  std::string family;  // "inet", "ip6", …; "legacy ip", "legacy ip6", "legacy arp" for iptables
  std::string name;    // as the kernel gives it; not escaped
  friend bool operator==(const FilterTable&, const FilterTable&) = default;
};

// Legacy tables are named only in files of /proc that the kernel's root may read (and the root of the owning user
// namespace, if it had a root when the network namespace was made). So an ordinary user cannot list those of a
// namespace made by `unshare -Urn`. kPassOver is for namespaces that another user namespace owns: whoever put a table
// there has power inside only, and it cannot lead outside.
enum class UnreadableLegacy { kRefuse, kPassOver };

// kUnavailable when they cannot be listed.
Result<std::vector<FilterTable>> list_filter_tables(UnreadableLegacy unreadable);

// The generation of the namespace's nftables rules: the kernel counts it up by one at each committed transaction. That
// it still is what it was proves that no rule changed in between, without reading rules that the sandbox could have
// written.
Result<std::uint32_t> nft_generation();

}  // namespace sallyport::firewall
