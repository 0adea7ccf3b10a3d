// `sallyport run`: one task from start to receipt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sandbox-launcher/spec/spec.h"

namespace sallyport::control {

struct RunOptions {
  std::optional<std::string> policy, config, rootfs, workspace, receipt, state;
  std::optional<launcher::RuntimeKind> runtime;  // absent: runc as root, bwrap as an ordinary user
  std::vector<std::string> read_only, environment, argv;
  std::string libexec;
  bool json = false;   // the receipt as JSON on standard output at the end
  bool quiet = false;  // no summary
  bool observe = false;  // see observe.h
};

// Runs it and returns the exit status: the command's own, or one of exit_code.h. Messages go to standard error.
int run_task(const RunOptions& options);

}  // namespace sallyport::control
