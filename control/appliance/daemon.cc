#include "control/appliance/daemon.h"

#include <signal.h>

namespace sallyport::control {

namespace {

// Frames and buffers of many connections come and go together: the C library's cache for a size would hold seven of them.
constexpr std::string_view kAllocator = "GLIBC_TUNABLES=glibc.malloc.tcache_count=256";

}  // namespace

Result<Daemon> Daemon::start(const std::string& libexec, const std::string& name, int log) {
  BOOST_OUTCOME_TRY(auto ends, ipc::Channel::pair());
  sys::SpawnOptions options;
  options.path = libexec + "/" + name;
  options.argv = {name};
  options.environment = {std::string(kAllocator)};
  options.descriptors = {{2, log}, {3, ends.second.fd()}};
  options.group = sys::SpawnOptions::Group::kNewSession;
  auto child = sys::ChildProcess::start(options);
  if (!child) return fail(ErrorKind::kUnavailable, name + " cannot be started: " + child.error().detail);
  return Daemon{name, std::move(child).value(), std::move(ends.first)};
}

void Daemon::stop(Deadline deadline) noexcept {
  channel.close();
  if (process.wait(deadline)) return;
  (void)process.signal(SIGKILL);
  (void)process.wait(Deadline::after(std::chrono::seconds(2)));
}

}  // namespace sallyport::control
