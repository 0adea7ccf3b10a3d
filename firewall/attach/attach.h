// What sallyport-attach does, from the first message of control to the last.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/ip_address.h"
#include "core/base/result.h"
#include "firewall/ruleset/load_ruleset.h"

namespace sallyport::firewall {

// What the self-test needs to know of the work that was done.
struct Attached {
  IpAddress resolver4;
  LoadedRuleset ruleset;
  std::vector<std::uint64_t> own_sockets;  // inodes; the sockets themselves are control's now
};

// Reads the request, makes everything inside the namespace, and answers control: with the listeners, or with the step
// that refused or failed. The process is inside the namespace afterwards, with the network capabilities alone. Must be
// called in a process with one thread; an error has been reported to control already, as far as control was there.
Result<Attached> attach_namespace(int channel);

// Waits for the probe request, however long control takes, runs the self-test and reports it.
Result<void> answer_self_test(int channel, const Attached& attached);

}  // namespace sallyport::firewall
