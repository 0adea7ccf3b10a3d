// The short keys of a policy: `policy:`, `denied:`, `on_denial:`, `within:`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policies/engine/policy.h"
#include "policies/engine/yaml_tree.h"

namespace sallyport::policy {

struct Label {
  std::string name;
  std::uint32_t version = 0;
};

// "NAME/VERSION": [a-z0-9-], and a number from 1 without a leading zero.
std::optional<Label> label_of(std::string_view text);

// Each reports what is wrong and gives nothing then. `node` is the value of the key.
std::optional<Label> read_identity(const YamlNode& node, Reporter& reporter);
std::optional<DeniedNames> read_denied(const YamlNode& node, Reporter& reporter);
std::optional<std::uint64_t> read_on_denial(const YamlNode& node, Reporter& reporter);
// `ceiling` is what the appliance has set, or null; `within:` has to name it.
std::optional<Label> read_within(const YamlNode& node, const CompiledPolicy* ceiling, Reporter& reporter);

}  // namespace sallyport::policy
