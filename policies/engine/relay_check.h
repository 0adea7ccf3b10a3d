// Paths that servers use to fetch something else for whoever asks.
#pragma once

#include "policies/engine/reporter.h"
#include "policies/engine/rule_terms.h"

namespace sallyport::policy {

// Warns of an allow rule for such a path that says nothing of the query, where what to fetch is usually named.
void check_relay(const Rule& rule, const RuleTerms& terms, Position at, Reporter& reporter);

}  // namespace sallyport::policy
