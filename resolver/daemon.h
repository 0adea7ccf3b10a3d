// The process, apart from main(): so that a test can run it without confinement.
#pragma once

#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/ipc/channel.h"
#include "resolver/start.h"

namespace sallyport::resolver {

// Gives up what is not needed; called between opening and Ready.
using Confine = std::function<Result<void>(const StartSettings&)>;
// As root becomes the user of Start; keeps IPv4 and IPv6 sockets and nothing of files.
Result<void> confine_process(const StartSettings& settings);

// Reads Start, opens, confines, answers Ready and serves until the control channel ends: then success. Anything else on
// the control channel ends it with an error.
Result<void> run_daemon(ipc::Channel control, const Confine& confine,
                        const std::string& resolv_conf = "/etc/resolv.conf");

}  // namespace sallyport::resolver
