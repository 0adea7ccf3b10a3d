// `use:` of a policy: entries of the catalogue, with their versions and parameters.
#pragma once

#include <string>
#include <vector>

#include "policies/engine/document.h"
#include "policies/engine/rule_reader.h"
#include "policies/engine/yaml_tree.h"

namespace sallyport::policy {

// What one entry of `use:` brings.
struct UsedEntry {
  UsePlace place;
  std::vector<ReadRule> rules;  // with their ids ("pypi/1/files"), origins, and the line that uses them
  std::string note;             // what the catalogue says is given up; may be empty
};

// Reports what is wrong; gives the entries that could be read. `task` stands for {task}.
std::vector<UsedEntry> read_use(const YamlNode& node, std::string_view task, Reporter& reporter);

}  // namespace sallyport::policy
