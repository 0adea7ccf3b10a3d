// Attaching a task: sallyport-attach makes its namespace's listeners, the proxy takes them, the self-test must pass.
#pragma once

#include <string>

#include "control/appliance/appliance.h"
#include "control/task/task_policy.h"
#include "firewall/api/attach_session.h"

namespace sallyport::control {

// The synthetic address ranges of one task.
struct TaskPools {
  IpPrefix v4, v6;
  IpAddress resolver4;  // what the task's resolv.conf names
};

// A /20 out of 198.18.0.0/15 and a /64 out of fd53:7079::/32, chosen by chance: a task's addresses mean nothing to the one after it.
TaskPools fresh_pools();

struct AttachRequest {
  TaskId task;
  TaskPolicy policy;
  TaskPools pools;
  std::string libexec;
};

// Every step of it, within `deadline`. When it succeeds the proxy serves the task's probes, and would serve the task after run_task().
// kDenied: the namespace is refused, or the self-test found a way out; the detail names the probe.
Result<void> attach_task(Appliance& appliance, AttachRequest request, firewall::AttachTarget target, Deadline deadline);

}  // namespace sallyport::control
