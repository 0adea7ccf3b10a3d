// What no rule opens: cloud metadata services hand out credentials to whoever asks. What an address embeds is core/net's
// matter.
#pragma once

#include "core/base/host_name.h"
#include "core/base/ip_address.h"

namespace sallyport::policy {

// True for the names of metadata services and for names below them.
bool is_floor(const HostName& name) noexcept;
// True for the well-known addresses of metadata services, so that a rule for one is refused when it is read.
bool is_floor(const IpAddress& address) noexcept;
// Names that never leave the machine (RFC 6761, RFC 6762, RFC 7686, RFC 9476), or name no host: no rule for them could match.
bool is_never_resolved(const HostName& name) noexcept;
// sallyport.internal: answered inside the task, whatever the policy says.
bool is_own_name(const HostName& name) noexcept;

}  // namespace sallyport::policy
