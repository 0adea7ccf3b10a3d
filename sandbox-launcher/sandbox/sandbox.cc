#include "sandbox-launcher/sandbox/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/base/escape.h"
#include "core/sys/namespaces.h"
#include "sandbox-launcher/oci/cgroup.h"
#include "sandbox-launcher/oci/log.h"
#include "sandbox-launcher/sandbox/init_channel.h"
#include "sandbox-launcher/sandbox/keeper.h"
#include "sandbox-launcher/sandbox/prepare.h"
#include "sandbox-launcher/sandbox/streams.h"
#include "sandbox-launcher/sandbox/verify.h"

namespace sallyport::launcher {
class Sandbox::Impl {
 public:
  Impl(Prepared prepared, TaskStreams streams, InitChannel channel, Keeper keeper)
      : facts(std::move(prepared.facts)),
        warnings(std::move(prepared.warnings)),
        ends(std::move(streams.near)),
        init(std::move(channel)),
        log_(std::move(prepared.log)),
        keeper_(std::move(keeper)) {}

  Result<void> become_ready(Deadline deadline, StdioKind stdio) {
    BOOST_OUTCOME_TRY(await_hello(deadline));
    auto greeted = init.hello();
    if (!greeted) return fail(with_words_of_runtime(greeted.error()));
    pid = greeted.value().pid;
    BOOST_OUTCOME_TRY(pidfd, sys::open_pidfd(pid));
    if (stdio == StdioKind::kTerminal) {
      if (isatty(greeted.value().terminal.get()) != 1)
        return fail(ErrorKind::kInternal, "the sandbox's terminal is none");
      ends = StdioEnds{};
      ends.terminal = std::move(greeted.value().terminal);
    }
    cgroup_ = CgroupReader::of(pid);
    return verify_confined(pid, facts.host_uid);
  }

  Result<ExitStatus> wait(Deadline deadline) {
    if (exit_) return *exit_;
    pollfd polled{pidfd.get(), POLLIN, 0};
    for (;;) {
      int ready = poll(&polled, 1, deadline.poll_timeout(Clock::now()));
      if (ready < 0 && errno == EINTR) continue;
      if (ready < 0) return fail_errno("poll");
      if (ready == 0) return fail(ErrorKind::kTimedOut, "the command still runs");
      break;
    }
    ExitStatus status;
    if (auto told = init.ended()) {
      if (told->type == InitMessageType::kExited) status.how = ExitStatus::How::kExited;
      if (told->type == InitMessageType::kKilledBySignal) status.how = ExitStatus::How::kSignal;
      if (status.how != ExitStatus::How::kLost) status.code = told->value & 0xff;
    }
    if (cgroup_) {
      CgroupEvents events = cgroup_->read();
      status.oom_kills = events.oom_kills;
      status.oom_killed = events.oom_kills > 0;
      status.process_limit_hits = events.refused_forks;
    }
    exit_ = status;
    return status;
  }

  Result<void> kill_tree(Deadline deadline) {
    // Pid 1 of the namespace: the kernel kills the rest before it lets it go.
    if (syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0) < 0 && errno != ESRCH)
      return fail_errno("kill the sandbox");
    BOOST_OUTCOME_TRY(wait(deadline));
    return success();
  }

  CleanupReport destroy(Deadline deadline) {
    if (destroyed_) return report_;
    destroyed_ = true;
    if (pidfd && !exit_) (void)kill_tree(deadline.earlier(Deadline::after(std::chrono::seconds(5))));
    init.close();
    report_.steps = keeper_.finish(deadline);
    return report_;
  }

  RuntimeFacts facts;
  std::vector<std::string> warnings;
  StdioEnds ends;
  InitChannel init;
  pid_t pid = -1;
  UniqueFd pidfd;
  bool started = false;

 private:
  Result<void> await_hello(Deadline deadline) {
    for (;;) {
      pollfd polled[2] = {{init.fd(), POLLIN, 0}, {keeper_.fd(), POLLIN, 0}};
      int ready = poll(polled, 2, deadline.poll_timeout(Clock::now()));
      if (ready < 0 && errno == EINTR) continue;
      if (ready < 0) return fail_errno("poll");
      if (ready == 0)
        return fail(with_words_of_runtime(Error::make(ErrorKind::kTimedOut, "the sandbox was not ready in time")));
      if ((polled[0].revents & POLLIN) != 0) return success();
      if (polled[1].revents != 0) {
        // runc ends by itself when the container runs: only a failure is one.
        std::optional<Error> error = keeper_.failure();
        if (!error && facts.runtime == "runc") continue;
        return fail(
            with_words_of_runtime(error.value_or(Error::make(ErrorKind::kInternal, "the runtime ended too early"))));
      }
      return fail(
          with_words_of_runtime(Error::make(ErrorKind::kDisconnected, "the sandbox ended before it was ready")));
    }
  }

  Error with_words_of_runtime(Error error) const {
    std::string words;
    if (!log_.empty()) {
      std::ifstream file(log_);
      std::ostringstream text;
      text << file.rdbuf();
      words = last_runc_error(text.str());
    }
    if (words.empty()) words = escape_text(peek_output(ends.error.get()), 600);
    if (!words.empty()) error.detail += ": " + words;
    return error;
  }

  std::string log_;
  Keeper keeper_;
  std::optional<CgroupReader> cgroup_;
  std::optional<ExitStatus> exit_;
  bool destroyed_ = false;
  CleanupReport report_;
};

Sandbox::Sandbox(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Sandbox::~Sandbox() { (void)destroy(Deadline::after(std::chrono::seconds(10))); }

Result<std::unique_ptr<Sandbox>> Sandbox::create(const SandboxSpec& spec, Deadline deadline) {
  BOOST_OUTCOME_TRY(auto prepared, prepare(spec, deadline));
  std::optional<std::uint32_t> owner;
  if (prepared.facts.as_root) owner = prepared.facts.host_uid;
  BOOST_OUTCOME_TRY(auto streams, make_streams(owner));
  UniqueFd inside;
  BOOST_OUTCOME_TRY(auto channel, InitChannel::make(inside));
  KeeperJob job = std::move(prepared.job);
  job.input = std::move(streams.input);
  job.output = std::move(streams.output);
  job.error = std::move(streams.error);
  job.channel = std::move(inside);
  BOOST_OUTCOME_TRY(auto keeper, Keeper::start(std::move(job)));
  std::unique_ptr<Sandbox> sandbox(new Sandbox(
      std::make_unique<Impl>(std::move(prepared), std::move(streams), std::move(channel), std::move(keeper))));
  BOOST_OUTCOME_TRY(sandbox->impl_->become_ready(deadline, spec.stdio));
  return sandbox;
}

pid_t Sandbox::init_pid() const noexcept { return impl_->pid; }
const std::vector<std::string>& Sandbox::warnings() const noexcept { return impl_->warnings; }
const RuntimeFacts& Sandbox::facts() const noexcept { return impl_->facts; }
int Sandbox::exit_fd() const noexcept { return impl_->pidfd.get(); }

Result<UniqueFd> Sandbox::netns() const {
  UniqueFd fd(open(("/proc/" + std::to_string(impl_->pid) + "/ns/net").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail_errno("open the sandbox's network namespace");
  return fd;
}

Result<void> Sandbox::start() {
  if (impl_->started) return fail(ErrorKind::kInvalid, "the sandbox was started already");
  impl_->started = true;
  return impl_->init.start();
}

StdioEnds Sandbox::take_stdio() noexcept { return std::move(impl_->ends); }
Result<ExitStatus> Sandbox::wait(Deadline deadline) { return impl_->wait(deadline); }
Result<void> Sandbox::signal(int number) { return impl_->init.signal(number); }
Result<void> Sandbox::kill_tree(Deadline deadline) { return impl_->kill_tree(deadline); }
CleanupReport Sandbox::destroy(Deadline deadline) { return impl_->destroy(deadline); }

}  // namespace sallyport::launcher
