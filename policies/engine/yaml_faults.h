// From what libyaml says of a broken file to what a person can do about it.
#pragma once

#include <string_view>

#include "policies/engine/reporter.h"

namespace sallyport::policy {

// `problem` and `context` are libyaml's words and may be null.
void report_yaml_fault(std::string_view text, const char* problem, const char* context, Position problem_at,
                       Position context_at, Reporter& reporter);

}  // namespace sallyport::policy
