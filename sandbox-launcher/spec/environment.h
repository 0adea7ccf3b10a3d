// The task's environment: built from nothing, never the caller's with holes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sandbox-launcher/spec/spec.h"

namespace sallyport::launcher {

struct Environment {
  std::vector<std::string> variables;  // NAME=value, sorted by name, no name twice
  std::vector<std::string> warnings;   // one escaped line each
};

// The value of a variable of the caller, if it has one.
using CallerVariable = std::function<std::optional<std::string>(const std::string& name)>;
// Reads the caller's real environment.
std::optional<std::string> caller_variable(const std::string& name);

// PATH, HOME, USER, LOGNAME, SHELL, TMPDIR, LANG, TZ and, with a terminal, TERM and COLORTERM; the proxy variables
// in both letter cases and what node and Java need to heed them; SALLYPORT_TASK; then `spec.environment`.
//
// --env NAME copies the caller's value, and is kInvalid when there is none. Names are [A-Za-z_][A-Za-z0-9_]*.
// SALLYPORT_* is refused. A proxy variable given with --env is overridden, with a warning: the network has no other way
// anyhow.
Result<Environment> build_environment(const SandboxSpec& spec, const CallerVariable& caller);

}  // namespace sallyport::launcher
