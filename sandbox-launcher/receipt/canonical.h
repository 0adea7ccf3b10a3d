// Hostile bytes as text of a JSON document.
#pragma once

#include <string>
#include <string_view>

namespace sallyport::launcher {

// Valid UTF-8 as it is; each other byte as \xHH in plain characters. At most 4096 bytes of it, then "...".
std::string json_text(std::string_view hostile);

}  // namespace sallyport::launcher
