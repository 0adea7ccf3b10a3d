// `sallyport policy suggest AUDIT` and `sallyport policy replay POLICY AUDIT`
#pragma once

#include <string>

namespace sallyport::control {

// Prints a policy for what the log shows; `denied_only`: without what was allowed. 0: printed, 2: no answer.
int suggest_policy(const std::string& audit, const std::string& name, bool denied_only);
// 0: the policy decides everything as the log shows, 1: not everything, 2: no answer.
int replay_audit(const std::string& file, const std::string& audit, const std::string& ceiling);

}  // namespace sallyport::control
