// The first look at a policy file: bytes that could make it mean something else than it shows.
#pragma once

#include <string_view>

#include "policies/engine/reporter.h"

namespace sallyport::policy {

// Reports too long a text, a byte order mark, bytes that are not UTF-8, NUL and other control characters, tabs,
// carriage returns, line and paragraph separators, and characters that are invisible or turn the direction of writing.
// False if any.
bool check_text(std::string_view text, Reporter& reporter);

}  // namespace sallyport::policy
