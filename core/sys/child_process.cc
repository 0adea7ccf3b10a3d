#include "core/sys/child_process.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace sallyport::sys {
namespace {

constexpr auto kReapTimeout = std::chrono::seconds(2);

ExitStatus status_of(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return {ExitStatus::How::kExited, info.si_status};
  return {ExitStatus::How::kSignalled, info.si_status};
}

}  // namespace

std::string ExitStatus::text() const {
  if (how == How::kExited) return "exited with " + std::to_string(value);
  const char* name = sigabbrev_np(value);
  return "killed by " + (name ? "SIG" + std::string(name) : std::string("signal")) + " (" + std::to_string(value) + ")";
}

Result<ChildProcess> ChildProcess::start(const SpawnOptions& options) {
  BOOST_OUTCOME_TRY(auto child, spawn(options));
  return ChildProcess(std::move(child));
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : child_{std::exchange(other.child_.pid, -1), std::move(other.child_.pidfd)}, status_(other.status_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this == &other) return *this;
  ChildProcess old(std::move(*this));  // ends the child that was owned
  child_.pid = std::exchange(other.child_.pid, -1);
  child_.pidfd = std::move(other.child_.pidfd);
  status_ = other.status_;
  return *this;
}

ChildProcess::~ChildProcess() {
  if (!child_.pidfd || status_) return;
  auto ignored_signal = signal(SIGKILL);
  auto ignored_wait = wait(Deadline::after(kReapTimeout));
}

Result<std::optional<ExitStatus>> ChildProcess::try_wait() {
  if (status_) return status_;
  if (!child_.pidfd) return fail(ErrorKind::kInvalid, "wait: no child");
  siginfo_t info{};
  while (waitid(P_PIDFD, static_cast<id_t>(child_.pidfd.get()), &info, WEXITED | WNOHANG) != 0)
    if (errno != EINTR) return fail_errno("waitid");
  if (info.si_pid != 0) status_ = status_of(info);
  return status_;
}

Result<ExitStatus> ChildProcess::wait(Deadline deadline) {
  for (;;) {
    BOOST_OUTCOME_TRY(auto ended, try_wait());
    if (ended) return *ended;
    pollfd ready{child_.pidfd.get(), POLLIN, 0};
    int count = poll(&ready, 1, deadline.poll_timeout(Clock::now()));
    if (count < 0 && errno != EINTR) return fail_errno("poll");
    if (count == 0) return fail(ErrorKind::kTimedOut, "process " + std::to_string(child_.pid) + " has not ended");
  }
}

Result<void> ChildProcess::signal(int number) {
  if (status_) return success();
  if (!child_.pidfd) return fail(ErrorKind::kInvalid, "signal: no child");
  if (syscall(SYS_pidfd_send_signal, child_.pidfd.get(), number, nullptr, 0) != 0 && errno != ESRCH)
    return fail_errno("pidfd_send_signal");
  return success();
}

Result<void> ChildProcess::signal_group(int number) {
  // Unreaped, the number of the child and so of its group cannot belong to anyone else.
  if (status_ || child_.pid <= 0) return fail(ErrorKind::kInvalid, "signal_group: the child has been reaped");
  if (getpgid(child_.pid) == getpgrp()) return fail(ErrorKind::kInvalid, "signal_group: the child shares our group");
  if (kill(-child_.pid, number) != 0 && errno != ESRCH) return fail_errno("kill");
  return success();
}

Result<ExitStatus> ChildProcess::terminate(Deadline grace) {
  BOOST_OUTCOME_TRY(signal(SIGTERM));
  auto ended = wait(grace);
  if (ended || ended.error().kind != ErrorKind::kTimedOut) return ended;
  BOOST_OUTCOME_TRY(signal(SIGKILL));
  return wait(Deadline::after(kReapTimeout));
}

}  // namespace sallyport::sys
