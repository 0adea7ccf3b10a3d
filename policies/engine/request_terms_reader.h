// `query:` and `content_type:` of a rule.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/engine/query_pattern.h"
#include "policies/engine/yaml_tree.h"

namespace sallyport::policy {

// Each reports what is wrong and gives nothing then.
std::optional<QueryPattern> read_query(const YamlNode& node, Reporter& reporter);
std::optional<std::vector<std::string>> read_content_types(const YamlNode& node, Reporter& reporter);

}  // namespace sallyport::policy
