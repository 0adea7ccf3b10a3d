// The readers of import.cc, one for each tool.
#pragma once

#include "policies/edit/imported_rules.h"
#include "policies/engine/yaml_tree.h"

namespace sallyport::policy::edit {

// Each adds what it finds to `rules`, reports what it leaves out, and adds lines to the comment at the head.
void import_smokescreen(const YamlNode& root, const ImportWishes& wishes, ImportedRules& rules, Reporter& reporter,
                        std::vector<std::string>& head);
void import_sandbox_runtime(const YamlNode& root, ImportedRules& rules, Reporter& reporter);
void import_squid(std::string_view text, ImportedRules& rules, Reporter& reporter);

}  // namespace sallyport::policy::edit
