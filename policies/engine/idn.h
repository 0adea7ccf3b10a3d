// Unicode host names of policy files as A-labels (UTS #46 without transitional processing, IDNA 2008). On the wire
// nothing is ever mapped: there only the A-label form exists.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace sallyport::policy {

// "bücher.example" -> "xn--bcher-kva.example". kInvalid with one sentence when the text is no such name, or when IDNA
// 2003 and IDNA 2008 make two different names of it; the sentence then gives both.
Result<std::string> to_a_labels(std::string_view utf8);

}  // namespace sallyport::policy
