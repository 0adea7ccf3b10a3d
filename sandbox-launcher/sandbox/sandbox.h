// Sandbox: one task's namespaces, root file system, limits and process tree, from create() to destroy().
//
//   create   every namespace exists, the root is mounted, seccomp is on, no capability is left; the task's pid 1 is
//            Sallyport's own init, which waits. Nothing of the command has run. Attach the network namespace now.
//   start    init runs the command and reports its end.
//   wait     the command ended and with it, by the kernel's rule for pid 1, every process of its pid namespace.
//   destroy  kills what is left and removes bundle, cgroup and state; all mounts were private and are gone already.
//
// A keeper process outlives a caller that dies: it then kills the tree and cleans up by itself.
// Calls block for at most their deadline; one thread at a time. Errors: kInvalid for what was asked in a wrong form,
// kDenied for what is refused as unsafe, kUnavailable for what this machine lacks, kTimedOut; the detail says what to
// do.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "sandbox-launcher/spec/report.h"
#include "sandbox-launcher/spec/spec.h"
#include "sandbox-launcher/stdio/relay.h"

namespace sallyport::launcher {

class Sandbox {
 public:
  // `spec` is copied from. On failure everything already made is removed.
  static Result<std::unique_ptr<Sandbox>> create(const SandboxSpec& spec, Deadline deadline);
  // Destroys within 10 s if destroy() was not called.
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // Pid 1 of the sandbox, in the caller's pid namespace. Valid until wait() or destroy() returned.
  pid_t init_pid() const noexcept;
  // Its network namespace, opened anew; owned by a user namespace that is not the caller's.
  Result<UniqueFd> netns() const;
  // Things the operator should know (an overridden variable, a limit held in a weaker way); one escaped line each.
  const std::vector<std::string>& warnings() const noexcept;
  const RuntimeFacts& facts() const noexcept;

  // Lets the command run. Once.
  Result<void> start();
  // The near ends of the task's streams, for StdioRelay::start. Once, after create.
  StdioEnds take_stdio() noexcept;

  // Readable when the sandbox has ended (a pidfd: poll it, do not read it).
  int exit_fd() const noexcept;
  // kTimedOut when it still runs at `deadline`. Repeatable.
  Result<ExitStatus> wait(Deadline deadline);
  // Sends `signal` to the command's process group through init (SIGTERM, SIGINT, …). Not a way to end a tree.
  Result<void> signal(int number);
  // Kills every process and waits until the kernel has removed them all.
  Result<void> kill_tree(Deadline deadline);
  // Kills, removes, verifies; names each step. Safe to call again.
  CleanupReport destroy(Deadline deadline);

 private:
  class Impl;
  explicit Sandbox(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sallyport::launcher
