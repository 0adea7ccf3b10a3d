// Daemon: one of our processes as control holds it: the child and the channel to it.
#pragma once

#include <string>

#include "core/ipc/channel.h"
#include "core/sys/child_process.h"

namespace sallyport::control {

struct Daemon {
  std::string name;
  sys::ChildProcess process;
  ipc::Channel channel;

  // Starts `libexec`/`name` with one end of a new channel as descriptor 3, nothing of our environment and `log` as standard error.
  static Result<Daemon> start(const std::string& libexec, const std::string& name, int log);
  // Closes the channel, which tells it to end, and waits; past the deadline it is killed.
  void stop(Deadline deadline) noexcept;
};

}  // namespace sallyport::control
