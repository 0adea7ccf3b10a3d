// Notes: what a policy gives up, rule by rule, for whoever reviews it. They are no faults: loading does not tell them.
#pragma once

#include <string_view>
#include <vector>

#include "policies/engine/diagnostic.h"
#include "policies/engine/document.h"
#include "policies/engine/policy.h"

namespace sallyport::policy {

// For each allow rule at most one note, that says where data may leave, what a tunnel does not show, and what a limit of methods does
// not promise. At most kMaxDiagnostics, the last of which then counts the rest. `document` is that of the same load.
std::vector<Diagnostic> notes(const CompiledPolicy& policy, const PolicyDocument& document, std::string_view file_name);

}  // namespace sallyport::policy
