#include "control/task/observe.h"

#include <algorithm>

namespace sallyport::control {
namespace {

// The line of a top-level key, without its newline; npos when there is none. Top-level keys of a block map begin their
// line.
std::size_t line_of(const std::string& text, std::string_view key) {
  if (text.starts_with(key)) return 0;
  auto at = text.find("\n" + std::string(key));
  return at == std::string::npos ? at : at + 1;
}

}  // namespace

Result<TaskPolicy> observing(TaskPolicy policy) {
  constexpr std::string_view kExplain = "denied: explain";
  if (policy.policy->denied_names() == policy::DeniedNames::kExplain) return policy;
  if (policy.policy->is_absent()) {
    policy.text = "policy: observed/1\nrules: []\n" + std::string(kExplain) + "\n";
    policy.file = "no policy";
    return policy;
  }
  if (line_of(policy.text, "policy:") == std::string::npos)
    return fail(ErrorKind::kInvalid,
                "--observe needs a policy with its keys on lines of their own: run 'sallyport policy fmt' on it");
  if (auto at = line_of(policy.text, "denied:"); at != std::string::npos) {
    policy.text.replace(at, std::min(policy.text.find('\n', at), policy.text.size()) - at, kExplain);
    return policy;
  }
  policy.text += "\n" + std::string(kExplain) + "\n";
  return policy;
}

}  // namespace sallyport::control
