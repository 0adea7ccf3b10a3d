// Requests that try what rules say of queries and bodies: samples, since what a regular expression takes cannot be
// listed; and what can be proven without them.
#pragma once

#include <string>
#include <vector>

#include "policies/engine/path.h"
#include "policies/review/universe.h"

namespace sallyport::policy::review {

// Queries at the edges of what the rules take: the least, the most, each listed value, a byte more than the longest,
// none, and one that no rule names.
std::vector<std::string> sample_queries(const std::vector<const RuleTerms*>& rules);
// The listed types, one that is not listed, and "" for no body.
std::vector<std::string> sample_bodies(const std::vector<const RuleTerms*>& rules);

// The http allow rules of a view that match this path and method, own ones or those of the ceiling.
std::vector<HostView::Entry> allowing(const HostView& view, bool of_ceiling, const CanonicalPath& path,
                                      std::string_view method);

// Certainly no request fits both.
bool are_disjoint(const RequestTerms* a, const RequestTerms* b);
// Certainly every request that fits `inner` fits `outer`. Null fits every request.
bool does_cover(const RequestTerms* outer, const RequestTerms* inner);

}  // namespace sallyport::policy::review
