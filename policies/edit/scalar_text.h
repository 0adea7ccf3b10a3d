// How a value is written in a policy file.
#pragma once

#include <string>
#include <string_view>

namespace sallyport::policy::edit {

enum class Within : bool { kBlock, kFlow };

// Plain where YAML reads it as it stands, else in single quotes, and in double quotes where it holds what only those
// can.
std::string scalar_text(std::string_view value, Within within);

}  // namespace sallyport::policy::edit
