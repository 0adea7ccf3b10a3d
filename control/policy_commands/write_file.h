// A file replaced in one step.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace sallyport::control {

// The new text beside the old file, written through to the disk, then renamed over it: whoever reads sees one or the
// other. Keeps the mode and, where it may, the owner. Follows a symbolic link to what it names. The file has to be
// there.
Result<void> replace_file(const std::string& path, std::string_view text);
// A new file with mode 0644 (less the umask). kInvalid when there is one.
Result<void> create_file(const std::string& path, std::string_view text);

}  // namespace sallyport::control
