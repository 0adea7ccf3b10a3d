// Reading small files of the kernel.
#pragma once

#include <string>

#include "core/base/result.h"

namespace sallyport::sys {

// The whole file, at most 64 KiB (kOverloaded beyond). For /proc and /sys.
Result<std::string> read_small_file(const std::string& path);
// Writes `text` in one write(2), as the kernel's files want it.
Result<void> write_small_file(const std::string& path, std::string_view text);

}  // namespace sallyport::sys
