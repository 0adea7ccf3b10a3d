// The small verbs of `sallyport`: those that look at something and print.
#pragma once

#include <cstddef>
#include <string>

namespace sallyport::control {

// `sallyport audit verify FILE`: 0 when the chain holds, 1 when it does not.
int verify_audit_log(const std::string& file, bool json);
// `sallyport audit tail FILE`
int print_audit_tail(const std::string& file, std::size_t lines, bool json);
// `sallyport policy check FILE`: 0 when it loads. `ceiling` is the file of the policy above it; empty: none.
int check_policy(const std::string& file, const std::string& ceiling);
// `sallyport doctor`: what this machine can do; 0 when tasks can be run.
int run_doctor(const std::string& libexec);

}  // namespace sallyport::control
