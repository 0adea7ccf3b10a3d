// Limits and budgets as a policy file writes them.
#pragma once

#include <string>

#include "policies/engine/limits.h"

namespace sallyport::policy::review {

std::string size_text(ByteCount bytes);                // "50MiB", "1025B"
std::string duration_text(std::chrono::seconds time);  // "30m", "90s"

// "requests 200, download 50MiB"; empty when nothing is limited.
std::string limits_text(const Limits& limits);
std::string budgets_text(const Budgets& budgets);

}  // namespace sallyport::policy::review
