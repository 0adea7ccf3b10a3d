// Reading of a small file of procfs.
#pragma once

#include <string>

#include "core/base/result.h"

namespace sallyport::firewall {

inline constexpr std::size_t kMaxTextFile = 1 << 20;  // bytes

// The whole file; kOverloaded past kMaxTextFile. The code of the error is the errno value.
Result<std::string> read_text_file(const std::string& path);
Result<void> write_text_file(const std::string& path, std::string_view text);

}  // namespace sallyport::firewall
