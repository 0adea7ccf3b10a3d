// One entry of `rules:`.
#pragma once

#include <optional>

#include "policies/engine/rule_terms.h"
#include "policies/engine/yaml_tree.h"

namespace sallyport::policy {

struct ReadRule {
  Rule rule;
  RuleTerms terms;
  Position at;          // of the destination
  Position id_at = {};  // of the id, if it is written
  bool has_id = false;
};

// `index` is the position in the list, from 0; `task` stands for {task}. Reports what is wrong; nothing when the destination could not be read.
std::optional<ReadRule> read_rule(const YamlNode& node, std::uint32_t index, std::string_view task,
                                  Reporter& reporter);

}  // namespace sallyport::policy
