// The audit process: its start, its confinement and its loop.
#pragma once

#include <functional>

#include "control/audit/api/audit.pb.h"
#include "core/base/result.h"
#include "core/ipc/channel.h"

namespace sallyport::audit_writer {

// Gives up everything that the process does not need, after all it needs is open.
using Confine = std::function<Result<void>(const audit::api::Start&)>;
Result<void> confine_process(const audit::api::Start& start);

// Serves one control channel until its end, in the calling thread. Success: the channel ended and the log is whole and
// synced. An Error means that the process must end with a failure.
Result<void> run_daemon(ipc::Channel control, const Confine& confine);

}  // namespace sallyport::audit_writer
