// The rule that would allow what was denied: for the denial's text, for sallyport.internal, for the end of a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/engine/request.h"

namespace sallyport::policy {

// What the rule has to say beside method and path, because other rules of the host do: one that said nothing would void
// theirs.
struct RequestBounds {
  bool query = false;                      // the query of the request and no other; without one `query: none`
  std::vector<std::string> content_types;  // media types, lower case; empty: any body
};

// One line to put into `rules:`, for example "- allow: tls://api.example". The narrowest there is: this host, port,
// method and path. It does not say that the rule ought to be added. Nothing where no rule can help: metadata services,
// names that never leave the task, an IPv4 address in IPv6 clothes, a query that no rule can name. ASCII.
// A rule with bounds is one line as well: "- {allow: GET http://api.example/v1, query: {page: '2'}}".
std::optional<std::string> rule_for(const ConnectionRequest& request);
std::optional<std::string> rule_for(const HttpRequest& request, const RequestBounds& bounds = {});

}  // namespace sallyport::policy
