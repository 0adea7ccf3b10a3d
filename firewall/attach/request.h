// What control asks for, checked.
#pragma once

#include "core/base/ip_address.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "firewall/api/messages.h"

namespace sallyport::firewall {

struct CheckedRequest {
  UniqueFd netns;
  pid_t pid = 0;
  IpAddress resolver4;  // the address after the base of the IPv4 pool
};

// kInvalid for another protocol, unknown flags, a negative pid, or pools that cannot be: too small, with host bits, or
// over loopback or the task's own addresses.
Result<CheckedRequest> check_request(const AttachRequest& request, UniqueFd netns);

}  // namespace sallyport::firewall
