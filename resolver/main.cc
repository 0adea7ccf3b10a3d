// sallyport-resolver: upstream DNS for the proxies. Started by control with its channel as descriptor 3; has no
// options.
#include <cstdio>

#include "core/sys/signals.h"
#include "resolver/daemon.h"

int main() {
  using namespace sallyport;
  sys::ignore_sigpipe();
  auto control = ipc::Channel::adopt(UniqueFd(3));
  if (!control) {
    std::fprintf(stderr, "sallyport-resolver: is started by sallyport, not by hand: %s\n",
                 control.error().detail.c_str());
    return 2;
  }
  auto done = resolver::run_daemon(std::move(control).value(), resolver::confine_process);
  if (done) return 0;
  std::fprintf(stderr, "sallyport-resolver: %s\n", done.error().to_string().c_str());
  return 1;
}
