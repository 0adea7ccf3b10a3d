// The rule that would allow what was denied: for the denial's text, for sallyport.internal, for the end of a run.
#pragma once

#include <optional>
#include <string>

#include "policies/engine/request.h"

namespace sallyport::policy {

// One line to put into `rules:`, for example "- allow: tls://api.example". The narrowest there is: this host, port,
// method and path. It does not say that the rule ought to be added. Nothing where no rule can help: metadata services,
// names that never leave the task, an IPv4 address in IPv6 clothes.
std::optional<std::string> rule_for(const ConnectionRequest& request);
std::optional<std::string> rule_for(const HttpRequest& request);

}  // namespace sallyport::policy
