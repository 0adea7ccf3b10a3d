// What stands after `allow:` or `deny:`: "GET,HEAD http://api.example/v1/**", "tls://cdn.example",
// "tcp://db.example:5432".
#pragma once

#include <optional>

#include "policies/engine/rule_terms.h"
#include "policies/engine/yaml_tree.h"

namespace sallyport::policy {

// `task` stands for {task}; empty: {task} is an ordinary text. Reports what is wrong or not supported yet, and gives nothing
// then.
std::optional<RuleTerms> read_destination(Action action, const YamlNode& node, std::string_view task,
                                          Reporter& reporter);

}  // namespace sallyport::policy
