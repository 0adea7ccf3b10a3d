// load: from the text of a policy file to a CompiledPolicy, or to the reasons why not.
//
// The text is untrusted in form: YAML read strictly, every scalar a string. Refused as errors: unknown and duplicate
// keys, anchors, aliases, tags, merge keys, further documents, bytes that are not UTF-8, NUL and other control
// characters, tabs, carriage returns, a byte order mark, and all that cannot be meant or cannot be enforced.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "policies/engine/diagnostic.h"
#include "policies/engine/policy.h"

namespace sallyport::policy {

inline constexpr std::size_t kMaxPolicyBytes = 16u << 20;  // of the file
inline constexpr std::size_t kMaxPolicyDepth = 8;          // of nested maps and lists
inline constexpr std::size_t kMaxRules = 200'000;
inline constexpr std::size_t kMaxDiagnostics = 50;  // of one load; reading goes on, telling stops

struct LoadOutcome {
  // Null if any diagnostic is an error.
  std::shared_ptr<const CompiledPolicy> policy;
  // In the order of the file. Warnings and notes may come with a policy.
  std::vector<Diagnostic> diagnostics;
};

// `file_name` is only shown, never opened.
LoadOutcome load(std::string_view text, std::string_view file_name);

}  // namespace sallyport::policy
