// From a SandboxSpec to what the keeper runs: every check of what was asked happens here.
#pragma once

#include <string>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "sandbox-launcher/sandbox/keeper.h"
#include "sandbox-launcher/spec/report.h"
#include "sandbox-launcher/spec/spec.h"

namespace sallyport::launcher {

struct Prepared {
  KeeperJob job;  // without its streams and channel
  RuntimeFacts facts;
  std::vector<std::string> warnings;
  std::string log;  // the runtime's log file; empty when it has none
};

// Makes nothing that would have to be removed again.
Result<Prepared> prepare(const SandboxSpec& spec, Deadline deadline);

}  // namespace sallyport::launcher
