// AttachSession: one run of sallyport-attach, from control's side. Used once, in this order:
//
//   auto session = AttachSession::start(options, std::move(target));     // spawn, send the request
//   auto listeners = session.receive_listeners(deadline);                // everything is made inside
//   … hand the listeners and the nonce to the proxy …
//   auto outcomes = session.run_probes(nonce, deadline);                 // the self-test; attach exits
//   auto failures = verify_probes({nonce, resolver4}, outcomes, the proxy's records);
//
// Blocking, each call bounded by its deadline; fd() can be polled for the next answer instead. One thread at a time.
// Destroying it kills and reaps attach; listeners already received stay valid. Errors: kDenied when the namespace is
// refused (the detail says why and what to do), kUnavailable when attach cannot be started or a step does not work,
// kTimedOut, kDisconnected when attach ends early, kInvalid when it answers something else than the protocol.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/ip_address.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/sys/child_process.h"
#include "firewall/api/listener_set.h"
#include "firewall/api/nonce.h"
#include "firewall/api/probes.h"
#include "firewall/api/target.h"

namespace sallyport::firewall {

struct AttachOptions {
  std::string program;  // absolute path of sallyport-attach
  IpPrefix pool4;       // the task's synthetic addresses
  IpPrefix pool6;
  // Environment of the child, "NAME=value" each; empty for the shipped program, which reads none.
  std::vector<std::string> environment = {};
};

class AttachSession {
 public:
  // `target.netns` is passed to attach and closed here.
  static Result<AttachSession> start(const AttachOptions& options, AttachTarget target);

  // Also verifies that every listener lies in the namespace that was asked for.
  Result<ListenerSet> receive_listeners(Deadline deadline);
  // Exactly one outcome per probe of all_probes(), in any order. attach has been reaped when this returns.
  Result<std::vector<ProbeOutcome>> run_probes(const Nonce& nonce, Deadline deadline);

  // Readable when attach has answered or ended.
  int fd() const noexcept { return channel_.get(); }
  pid_t pid() const noexcept { return child_.pid(); }

 private:
  AttachSession(UniqueFd channel, sys::ChildProcess child, sys::NamespaceId target) noexcept
      : channel_(std::move(channel)), child_(std::move(child)), target_(target) {}

  UniqueFd channel_;
  sys::ChildProcess child_;
  sys::NamespaceId target_;
};

}  // namespace sallyport::firewall
