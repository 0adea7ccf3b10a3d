// Where a task's state goes: its audit log, its ledger, its receipt.
#pragma once

#include <optional>
#include <string>

#include "core/base/ids.h"
#include "core/sys/directory.h"

namespace sallyport::control {

// `asked` (--state), made if absent; else a new one for the task below /var/lib/sallyport as root, or below $XDG_STATE_HOME or
// ~/.local/state as an ordinary user. Private to the caller; kDenied otherwise.
Result<sys::PrivateDirectory> state_directory(const std::optional<std::string>& asked, const TaskId& task);

}  // namespace sallyport::control
