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
#include "policies/engine/document.h"
#include "policies/engine/policy.h"

namespace sallyport::policy {

inline constexpr std::size_t kMaxPolicyBytes = 16u << 20;  // of the file
inline constexpr std::size_t kMaxPolicyDepth = 8;          // of nested maps and lists
inline constexpr std::size_t kMaxRules = 200'000;
inline constexpr std::size_t kMaxDiagnostics = 50;  // of one load; reading goes on, telling stops

struct LoadOptions {
  // What the appliance sets above every policy; null for none. It has to be one that can be a ceiling: see
  // ceiling_faults().
  std::shared_ptr<const CompiledPolicy> ceiling = nullptr;
  // Stands for {task} in paths. Empty where no task is known, as in a check: {task} is then an ordinary text.
  std::string_view task = {};
};

struct LoadOutcome {
  // Null if any diagnostic is an error.
  std::shared_ptr<const CompiledPolicy> policy;
  // In the order of the file. Warnings and notes may come with a policy.
  std::vector<Diagnostic> diagnostics;
  // What stood where, as far as it could be read; null when the text is no map at all.
  std::shared_ptr<const PolicyDocument> document = nullptr;
};

// `file_name` is only shown, never opened.
LoadOutcome load(std::string_view text, std::string_view file_name, const LoadOptions& options = {});

// Why this policy cannot be a ceiling, as errors of its file: limits of rules cannot be counted there, and a ceiling has
// none above itself. Empty when it can.
std::vector<Diagnostic> ceiling_faults(const CompiledPolicy& policy, std::string_view file_name);

}  // namespace sallyport::policy
