// The commands that write policy files: init, fmt, add, import.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sallyport::control {

struct InitOptions {
  std::optional<std::string> file;  // absent: standard output
  std::string name = "first";
  std::vector<std::string> grants, apis;
  bool read_only = false;
};

// Without any wish on a terminal it asks a few questions. 0: written, 2: not.
int init_policy(const InitOptions& options);

// 0: in the canonical layout (or brought into it), 1: `check` and it is not, 2: no answer.
int format_policy(const std::string& file, bool check, const std::string& ceiling);

// 0: added, 1: allowed already or refused, 2: no answer. `file` is replaced in one step or left alone.
int add_rule(const std::string& file, const std::string& wanted, const std::string& id, const std::string& ceiling);

struct ImportOptions {
  std::string from;  // "smokescreen", "sandbox-runtime", "squid"
  std::string file, role, name = "mine";
  std::optional<std::string> output;  // absent: standard output
};

// Warnings of what was not carried over go to standard error. 0: all of it was, 1: not all, 2: no answer.
int import_policy(const ImportOptions& options);

}  // namespace sallyport::control
