// `dns:` of a rule.
#pragma once

#include <optional>

#include "policies/engine/rule.h"
#include "policies/engine/yaml_tree.h"

namespace sallyport::policy {

// "real", a record type, or a list of them. Reports what is wrong and gives nothing then.
std::optional<DnsGrant> read_dns(const YamlNode& node, Reporter& reporter);

}  // namespace sallyport::policy
