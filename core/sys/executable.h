// Where our own programs are.
#pragma once

#include <string>

#include "core/base/result.h"

namespace sallyport::sys {

// The directory of the running program's file (/proc/self/exe). kUnavailable when that file has been removed or
// replaced.
Result<std::string> executable_directory();

}  // namespace sallyport::sys
