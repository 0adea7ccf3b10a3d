// sallyport-audit: writes the audit log. Started by control with its channel as descriptor 3; has no options.
#include <cstdio>

#include "control/audit/daemon.h"
#include "core/base/unique_fd.h"
#include "core/ipc/channel.h"
#include "core/sys/signals.h"

int main() {
  using namespace sallyport;
  sys::ignore_sigpipe();
  auto control = ipc::Channel::adopt(UniqueFd(3));
  if (control.has_error()) {
    std::fprintf(stderr, "sallyport-audit: is started by sallyport, not by hand: %s\n", control.error().detail.c_str());
    return 2;
  }
  auto done = audit_writer::run_daemon(std::move(control).value(), audit_writer::confine_process);
  if (done.has_value()) return 0;
  std::fprintf(stderr, "sallyport-audit: %s\n", done.error().to_string().c_str());
  return 1;
}
