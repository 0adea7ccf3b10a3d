// `limits:` of a rule and `budgets:` of a policy.
#pragma once

#include <optional>

#include "policies/engine/limits.h"
#include "policies/engine/rule.h"
#include "policies/engine/yaml_tree.h"

namespace sallyport::policy {

// Reports what is wrong; what was read is then not to be used.
Limits read_limits(const YamlNode& node, Scheme scheme, Reporter& reporter);
Budgets read_budgets(const YamlNode& node, Reporter& reporter);

}  // namespace sallyport::policy
