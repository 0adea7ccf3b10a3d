// ApplianceConfig: what the operator sets for the appliance as a whole, in a YAML file read as strictly as a policy.
//
//   resolver:
//     servers: [198.51.100.53, "[2001:db8::53]:5353"]   # absent: those of /etc/resolv.conf
//   addresses:
//     permit: [10.0.0.0/8]        # otherwise refused by class; a policy must still allow the name or address
//   sandbox:
//     memory: 2GiB                # of the whole tree
//     processes: 512
//   audit:
//     durability: batched         # or strict: the disk is waited for
//   within: /etc/sallyport/company.yaml   # a policy above every task's: both must allow
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ip_address.h"
#include "core/base/units.h"
#include "policies/engine/diagnostic.h"

namespace sallyport::control {

struct ApplianceConfig {
  std::vector<std::string> resolver_servers;
  std::vector<IpPrefix> permit;
  std::optional<ByteCount> memory;
  std::optional<std::uint32_t> processes;
  bool strict_audit = false;
  std::optional<std::string> within;  // a file
};

struct ConfigOutcome {
  std::optional<ApplianceConfig> config;  // absent if any diagnostic is an error
  std::vector<policy::Diagnostic> diagnostics;
};

inline constexpr std::size_t kMaxConfigBytes = 1u << 20;

// `file_name` is only shown. An empty text is the default configuration.
ConfigOutcome load_appliance_config(std::string_view text, std::string_view file_name);

}  // namespace sallyport::control
