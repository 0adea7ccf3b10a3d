// CatalogueEntry: one entry of the catalogue, read. Its form is that of a policy: rules (each with its reason), tests, and
// parameters that stand as {name} in destinations.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/engine/document.h"
#include "policies/engine/yaml_tree.h"

namespace sallyport::policy {

struct CatalogueParameter {
  std::string name;
  std::string about;
  std::string regex;  // RE2, anchored
  std::string standard;  // used when the policy says nothing
};

struct CatalogueRule {
  std::string id;
  std::string reason;  // why the host is needed
  YamlNode node;       // what read_rule reads: without id and reason
};

struct CatalogueEntry {
  std::string label;  // "pypi/1"
  std::string about;
  std::string note;  // what is given up by it; may be empty
  std::vector<CatalogueParameter> parameters;
  std::vector<CatalogueRule> rules;
  std::vector<PolicyTest> tests;  // hold with the standard parameters
};

// From the text of policies/catalogue/NAME-VERSION.yaml. Reports what is wrong and gives nothing then.
std::optional<CatalogueEntry> read_catalogue_entry(std::string_view text, Reporter& reporter);

}  // namespace sallyport::policy
