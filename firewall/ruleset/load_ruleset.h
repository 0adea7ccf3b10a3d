// Loading of the rules into the namespace the process is in, by libnftables, in one transaction.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "firewall/ruleset/ruleset_text.h"

namespace sallyport::firewall {

// What a later look is compared with.
struct LoadedRuleset {
  std::uint32_t generation = 0;  // of the namespace's nftables rules right after the load
  PacketLog log = PacketLog::kOff;
};

// Requires CAP_NET_ADMIN over the namespace. All of it or nothing is loaded. Without packet log when the kernel does
// not offer that here. kUnavailable, with what nftables says, when the kernel lacks something; kDenied when somebody
// else changed rules meanwhile.
Result<LoadedRuleset> load_ruleset();

// Success if our table is the only packet filter and no transaction happened since the load; kDenied and what is there
// otherwise.
Result<void> check_ruleset(const LoadedRuleset& loaded);

}  // namespace sallyport::firewall
