// What runc said when it failed.
#pragma once

#include <string>
#include <string_view>

namespace sallyport::launcher {

// The message of the last error in a log written with `--log-format json`, escaped; empty when there is none.
std::string last_runc_error(std::string_view log);

}  // namespace sallyport::launcher
