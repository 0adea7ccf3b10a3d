// `tests:` of a policy.
#pragma once

#include <vector>

#include "policies/engine/document.h"
#include "policies/engine/yaml_tree.h"

namespace sallyport::policy {

inline constexpr std::size_t kMaxTests = 10'000;

// Reports what is wrong; gives the tests that could be read.
std::vector<PolicyTest> read_tests(const YamlNode& node, Reporter& reporter);

}  // namespace sallyport::policy
