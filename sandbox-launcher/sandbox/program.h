// Finding the runtime's program and running it for its answer.
#pragma once

#include <string>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"

namespace sallyport::launcher {

// The first executable `name` on the usual system paths, not on the caller's PATH: as root a program is run that only
// root can have put there. kUnavailable, with the Debian package to install, when there is none.
Result<std::string> find_program(const std::string& name);

struct ProgramAnswer {
  bool succeeded = false;
  std::string output;  // standard output and error, at most 64 KiB
};

// Runs `argv` (a path first) to its end with no input and a minimal environment; killed at the deadline (kTimedOut).
Result<ProgramAnswer> run_program(const std::vector<std::string>& argv, Deadline deadline);

// The first line that `path --version` prints, escaped.
Result<std::string> program_version(const std::string& path, Deadline deadline);

}  // namespace sallyport::launcher
