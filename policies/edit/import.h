// import: a policy from the configuration of another tool.
//
// Never wider than what it was made from: what cannot be said here is left out, with a warning for each such thing.
// Read from the tools' documentation. The text is untrusted in form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/engine/diagnostic.h"

namespace sallyport::policy::edit {

enum class Source : std::uint8_t {
  kSmokescreen,     // an egress ACL, YAML
  kSandboxRuntime,  // settings of sandbox-runtime, JSON
  kSquid,           // squid.conf
};
// "smokescreen", "sandbox-runtime", "squid"
std::optional<Source> source_of(std::string_view name);

struct ImportWishes {
  std::string name = "imported";  // of the policy
  std::string role = {};          // of a smokescreen ACL: the service; empty: the only one, or the default
};

struct Imported {
  std::optional<std::string> text;      // a policy that loads; absent when the source could not be read
  std::vector<Diagnostic> diagnostics;  // at places of the source
};

Imported import_policy(Source source, std::string_view text, std::string_view file_name, const ImportWishes& wishes);

}  // namespace sallyport::policy::edit
