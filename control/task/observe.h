// `sallyport run --observe`: a dry run that shows what a task wants.
//
// The policy is enforced as it stands: nothing passes that it denies. Only what a denied name is answered with changes:
// an address where connections get the readable refusal (`denied: explain`), so that not only the lookup is recorded
// but also what would have been asked there.
#pragma once

#include "control/task/task_policy.h"

namespace sallyport::control {

// kInvalid when the policy's text cannot be told to explain.
Result<TaskPolicy> observing(TaskPolicy policy);

}  // namespace sallyport::control
