#include "core/sys/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

namespace sallyport::sys {

Result<SignalReader> SignalReader::open(std::initializer_list<int> signals) {
  sigset_t wanted, previous;
  sigemptyset(&wanted);
  for (int number : signals)
    if (sigaddset(&wanted, number) != 0) return fail_errno("signals");
  UniqueFd fd(signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return fail_errno("signalfd");
  int error = pthread_sigmask(SIG_BLOCK, &wanted, &previous);
  if (error != 0) return fail(Error::from_errno("pthread_sigmask", error));
  return SignalReader(std::move(fd), previous);
}

SignalReader::~SignalReader() {
  if (fd_) pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

Result<std::optional<ReceivedSignal>> SignalReader::read() {
  signalfd_siginfo info{};
  for (;;) {
    ssize_t got = ::read(fd_.get(), &info, sizeof info);
    if (got == sizeof info) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return std::optional<ReceivedSignal>();
    if (got < 0) return fail_errno("signalfd");
    return fail(ErrorKind::kInternal, "signalfd: read in part");
  }
  return std::optional(
      ReceivedSignal{static_cast<int>(info.ssi_signo), static_cast<pid_t>(info.ssi_pid), info.ssi_status});
}

void ignore_sigpipe() noexcept { ::signal(SIGPIPE, SIG_IGN); }

}  // namespace sallyport::sys
