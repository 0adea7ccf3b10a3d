// format: a policy file in its canonical layout. The same keys, values and comments in the same order; nothing else is
// kept.
//
// Pure. Two spaces a level, lists below their key with "  - ", small maps and lists in one line, quotes where they are
// needed, one blank line where there were any, comments before or behind what they stood at.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/engine/load.h"

namespace sallyport::policy::edit {

struct Formatted {
  std::optional<std::string> text;      // absent when the file does not load
  std::vector<Diagnostic> diagnostics;  // why; the errors only
};

// Idempotent. What it gives has been read again and means the same; where that fails it is refused.
Formatted format(std::string_view text, std::string_view file_name, const LoadOptions& options = {});

}  // namespace sallyport::policy::edit
