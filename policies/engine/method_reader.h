// The methods of a rule: "GET,HEAD".
#pragma once

#include <optional>
#include <string_view>

#include "policies/engine/method.h"
#include "policies/engine/reporter.h"

namespace sallyport::policy {

// Reports each method that is unknown, in lower case, twice there or never allowed, and gives nothing then.
std::optional<MethodSet> read_methods(std::string_view text, Position at, Reporter& reporter);

}  // namespace sallyport::policy
