// What can be said of a rule only beside the others: covered, never matching, overlapping what cannot overlap.
#pragma once

#include <span>

#include "policies/engine/policy_builder.h"
#include "policies/engine/reporter.h"

namespace sallyport::policy {

// Reports a rule that an earlier one of the same action covers. To be called before the rule is added.
void check_covered(const PolicyBuilder& earlier, const Rule& rule, const RuleTerms& terms, Position at,
                   Reporter& reporter);

// Once all rules are added: allow rules under a denial, readable and opaque rules on one host and port, denials that
// would need to read a tunnel. `places` are the positions of the rules' destinations.
void check_together(const PolicyBuilder& all, std::span<const Position> places, Reporter& reporter);

}  // namespace sallyport::policy
