// What may be the name of one directory entry.
#pragma once

#include <string_view>

namespace sallyport::sys {

constexpr bool is_component(std::string_view name) noexcept {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

}  // namespace sallyport::sys
