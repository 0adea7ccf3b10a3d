#include "control/policy_commands/policy_file.h"

#include <cstdio>

#include "control/task/task_policy.h"
#include "core/base/escape.h"

namespace sallyport::control {

int no_answer(const std::string& what) {
  std::fprintf(stderr, "sallyport: %s\n", escape_text(what, 4096).c_str());
  return kNoAnswer;
}

void show_errors(const std::vector<policy::Diagnostic>& diagnostics) {
  for (const auto& diagnostic : diagnostics)
    if (diagnostic.severity == policy::Severity::kError) std::fputs(policy::render(diagnostic).c_str(), stderr);
}

std::optional<policy::LoadOptions> open_ceiling(const std::string& path, std::string_view task) {
  policy::LoadOptions options{nullptr, task};
  if (path.empty()) return options;
  auto file = open_policy(path, {}, task);
  if (!file) return std::nullopt;
  if (auto faults = policy::ceiling_faults(*file->loaded.policy, path); !faults.empty()) {
    show_errors(faults);
    no_answer("the policy " + path + " cannot be a ceiling");
    return std::nullopt;
  }
  options.ceiling = std::move(file->loaded.policy);
  return options;
}

std::optional<PolicyFile> open_policy(const std::string& path, const std::string& ceiling, std::string_view task) {
  auto options = open_ceiling(ceiling, task);
  if (!options) return std::nullopt;
  auto text = read_file(path, policy::kMaxPolicyBytes);
  if (!text) {
    no_answer(text.error().detail);
    return std::nullopt;
  }
  PolicyFile file{path, std::move(text).value(), {}};
  file.loaded = policy::load(file.text, path, *options);
  if (file.loaded.policy) return file;
  show_errors(file.loaded.diagnostics);
  no_answer("the policy " + path + " does not load");
  return std::nullopt;
}

}  // namespace sallyport::control
