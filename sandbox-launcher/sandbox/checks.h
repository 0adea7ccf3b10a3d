// sandbox_checks: what `sallyport doctor` says about this machine's ability to make sandboxes.
#pragma once

#include <string>
#include <vector>

namespace sallyport::launcher {

struct Check {
  enum class State { kOk, kWarning, kFailed };
  std::string name;  // "runc", "bwrap", "user namespaces", …
  State state = State::kFailed;
  std::string detail;  // found version or what is missing and how to get it
};

// Looks, and tries what can only be tried (a user namespace in a short-lived child); changes nothing. Under 2 s.
std::vector<Check> sandbox_checks();

}  // namespace sallyport::launcher
