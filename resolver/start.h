// Start: what control tells the resolver when it begins, checked and put into types.
#pragma once

#include <string>
#include <vector>

#include "core/net/address_policy.h"
#include "resolver/api/resolver.pb.h"
#include "resolver/upstream/context.h"

namespace sallyport::resolver {

struct StartSettings {
  UpstreamSettings upstream;
  net::AddressPolicy::Settings addresses;
  std::uint32_t user = 0;  // 0: none
};

// Reads `resolv_conf` where the message names no server. kInvalid for text that is no server, range or address and for
// numbers out of range: times are 10 ms to 60 s and one try no longer than the whole, in flight are 1 to 4096.
Result<StartSettings> read_start(const api::Start& start, const std::string& resolv_conf);

}  // namespace sallyport::resolver
