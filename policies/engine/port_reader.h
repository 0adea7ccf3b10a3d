// The port of a destination.
#pragma once

#include <optional>
#include <string_view>

#include "core/base/units.h"
#include "policies/engine/reporter.h"
#include "policies/engine/rule.h"

namespace sallyport::policy {

struct HostAndPort {
  std::string_view host;
  bool has_port = false;
  std::string_view port;
};

// Splits "host:port", "[v6]:port", "host". More than one colon outside brackets is left to the host.
HostAndPort split_port(std::string_view authority) noexcept;

// The port written, or the scheme's own. Reports and gives nothing when it is no port, or missing where it must be
// written.
std::optional<Port> read_port(const HostAndPort& text, Scheme scheme, Position at, Reporter& reporter);

}  // namespace sallyport::policy
