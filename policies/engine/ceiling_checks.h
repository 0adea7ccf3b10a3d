// A policy beside the one it has to stay within.
#pragma once

#include <span>
#include <string>

#include "policies/engine/policy_builder.h"
#include "policies/engine/reporter.h"

namespace sallyport::policy {

// Reports each allow rule that the ceiling can never let through (of the catalogue, as a warning), and each grant that it never makes. `places` are the
// positions of the rules' destinations.
void check_within(const PolicyBuilder& all, const CompiledPolicy& ceiling, std::span<const Position> places,
                  Reporter& reporter);

}  // namespace sallyport::policy
