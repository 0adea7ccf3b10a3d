// The two files a task is started with, read and checked.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "control/config/appliance_config.h"
#include "core/base/ids.h"
#include "core/base/result.h"
#include "policies/engine/policy.h"

namespace sallyport::control {

struct TaskPolicy {
  std::shared_ptr<const policy::CompiledPolicy> policy;
  std::string text;  // as the proxy will read it; empty: no policy
  std::string file;
  std::string ceiling_text = {};  // of the policy above it, as the proxy will read it
  std::string ceiling_file = {};  // empty: there is none
};

// Without a path: everything is denied. The policy is held to the one that the configuration sets above it; `task` stands for
// {task}. Errors and warnings of the files go to standard error; kInvalid when one does not load.
Result<TaskPolicy> read_task_policy(const std::optional<std::string>& path, const ApplianceConfig& config, const TaskId& task);
// Without a path: the default configuration.
Result<ApplianceConfig> read_appliance_config(const std::optional<std::string>& path);

// A whole file, at most `bound` bytes. kUnavailable when it cannot be read, kInvalid when it is larger or no regular file.
Result<std::string> read_file(const std::string& path, std::size_t bound);

}  // namespace sallyport::control
