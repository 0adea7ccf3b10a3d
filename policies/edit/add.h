// add: one allow rule put at the end of `rules:`, every other byte of the file as it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/engine/load.h"

namespace sallyport::policy::edit {

struct Added {
  enum class Kind : std::uint8_t {
    kAdded,
    kAlready,  // allowed without it
    kRefused,  // `why` says why; perhaps with diagnostics of the file as it would be
  };
  Kind kind = Kind::kRefused;
  std::string text;                     // of the whole file, when added
  std::string rule;                     // what was put in: "- allow: GET http://api.example/v1/x"
  std::uint32_t line = 0;               // where it begins
  std::string why;                      // one sentence, safe for a terminal
  std::vector<Diagnostic> diagnostics;  // of the file as it is, or as it would be
};

// `wanted` is a request or connection as `policy explain` takes it, which gives the narrowest rule for it, or a
// destination with stars as it stands in a rule. `id` may be empty. Pure; what it gives loads and allows what was
// wanted.
Added add(std::string_view text, std::string_view file_name, std::string_view wanted, std::string_view id,
          const LoadOptions& options = {});

}  // namespace sallyport::policy::edit
