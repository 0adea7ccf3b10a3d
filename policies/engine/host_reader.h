// The host of a destination, as a policy file writes it.
#pragma once

#include <optional>
#include <string_view>

#include "policies/engine/host_pattern.h"
#include "policies/engine/reporter.h"
#include "policies/engine/rule.h"

namespace sallyport::policy {

struct HostText {
  std::string_view text;  // with brackets, if it has them
  Scheme scheme;
  Action action;
  Position at;
};

// A name, "*." and a name, or an address literal. Reports what is wrong and gives nothing; a Unicode name gets a note.
std::optional<HostPattern> read_host(const HostText& host, Reporter& reporter);

}  // namespace sallyport::policy
