#include "core/sys/spawn.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <span>

#include "core/base/deadline.h"
#include "core/base/escape.h"

namespace sallyport::sys {
namespace {

constexpr auto kExecTimeout = std::chrono::seconds(10);

enum class Step : int { kSignals, kSession, kDescriptors, kTerminal, kUser, kDirectory, kParent, kExec };

const char* name_of(Step step) {
  switch (step) {
    case Step::kSignals:
      return "signals";
    case Step::kSession:
      return "setsid/setpgid";
    case Step::kDescriptors:
      return "descriptors";
    case Step::kTerminal:
      return "TIOCSCTTY";
    case Step::kUser:
      return "setresuid";
    case Step::kDirectory:
      return "chdir";
    case Step::kParent:
      return "PR_SET_PDEATHSIG";
    case Step::kExec:
      return "execve";
  }
  return "?";
}

struct Failure {
  Step step;
  int error;
};

// Everything the child touches, prepared before the fork; the child allocates nothing.
struct Plan {
  const char* path;
  char* const* argv;
  char* const* environment;
  const char* working_directory;  // or null
  SpawnOptions::Group group;
  int controlling_terminal;  // or -1
  const User* user;          // or null
  bool die_with_parent;
  pid_t parent;
  int status_fd;
  std::size_t count;
  std::array<DescriptorMapping, SpawnOptions::kMaxDescriptors + 3> mappings;  // sorted by child_fd
};

class ChildSide {
 public:
  explicit ChildSide(const Plan& plan) noexcept : plan_(plan), status_fd_(plan.status_fd) {}

  [[noreturn]] void run() noexcept {
    // Descriptors first: only then is the status pipe out of the way of the mapped numbers.
    if (!map_descriptors()) die(Step::kDescriptors);
    if (!reset_signals()) die(Step::kSignals);
    if (!set_group()) die(Step::kSession);
    if (plan_.controlling_terminal >= 0 && ioctl(plan_.controlling_terminal, TIOCSCTTY, 0) != 0) die(Step::kTerminal);
    if (plan_.user && !become_user()) die(Step::kUser);
    if (plan_.working_directory && chdir(plan_.working_directory) != 0) die(Step::kDirectory);
    if (!tie_to_parent()) die(Step::kParent);
    execve(plan_.path, plan_.argv, plan_.environment);
    die(Step::kExec);
  }

 private:
  [[noreturn]] void die(Step step) noexcept {
    Failure failure{step, errno};
    [[maybe_unused]] ssize_t written = write(status_fd_, &failure, sizeof failure);
    _exit(127);
  }

  bool reset_signals() noexcept {
    struct sigaction usual = {};
    usual.sa_handler = SIG_DFL;
    for (int number = 1; number <= SIGRTMAX; ++number)
      if (number != SIGKILL && number != SIGSTOP) sigaction(number, &usual, nullptr);  // glibc keeps two for itself
    sigset_t none;
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
  }

  bool set_group() noexcept {
    switch (plan_.group) {
      case SpawnOptions::Group::kInherit:
        return true;
      case SpawnOptions::Group::kNewGroup:
        return setpgid(0, 0) == 0;
      case SpawnOptions::Group::kNewSession:
        return setsid() >= 0;
    }
    return false;
  }

  // Sources are first lifted above every target, so that no dup2 destroys one that is still needed.
  bool map_descriptors() noexcept {
    int above = plan_.mappings[plan_.count - 1].child_fd + 1;
    int lifted = fcntl(status_fd_, F_DUPFD_CLOEXEC, above);
    if (lifted < 0) return false;
    status_fd_ = lifted;
    std::array<int, SpawnOptions::kMaxDescriptors + 3> sources{};
    for (std::size_t i = 0; i < plan_.count; ++i) {
      int source = plan_.mappings[i].fd;
      sources[i] = source >= 0 ? fcntl(source, F_DUPFD_CLOEXEC, above) : open_null(above);
      if (sources[i] < 0) return false;
    }
    for (std::size_t i = 0; i < plan_.count; ++i)
      if (dup2(sources[i], plan_.mappings[i].child_fd) < 0) return false;
    return close_the_rest();
  }

  static int open_null(int above) noexcept {
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, above);
  }

  // Close-on-exec rather than closed: the status pipe must live until exec.
  bool close_the_rest() noexcept {
    unsigned from = 0;
    for (std::size_t i = 0; i < plan_.count; ++i) {
      auto kept = static_cast<unsigned>(plan_.mappings[i].child_fd);
      if (kept > from && syscall(SYS_close_range, from, kept - 1, CLOSE_RANGE_CLOEXEC) != 0) return false;
      from = kept + 1;
    }
    return syscall(SYS_close_range, from, UINT_MAX, CLOSE_RANGE_CLOEXEC) == 0;
  }

  // Raw calls: glibc's wrappers would try to act on all threads of the parent's image.
  bool become_user() noexcept {
    auto uid = plan_.user->uid;
    auto gid = plan_.user->gid;
    return syscall(SYS_setgroups, 0, nullptr) == 0 && syscall(SYS_setresgid, gid, gid, gid) == 0 &&
           syscall(SYS_setresuid, uid, uid, uid) == 0;
  }

  bool tie_to_parent() noexcept {
    if (!plan_.die_with_parent) return true;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return false;
    if (getppid() == plan_.parent) return true;
    errno = ESRCH;  // the parent ended before the signal was set
    return false;
  }

  const Plan& plan_;
  int status_fd_;
};

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

Result<void> check(const SpawnOptions& options) {
  if (options.path.empty() || options.path.front() != '/')
    return fail(ErrorKind::kInvalid, "spawn: the path is not absolute");
  if (options.descriptors.size() > SpawnOptions::kMaxDescriptors)
    return fail(ErrorKind::kInvalid, "spawn: more than 64 descriptors");
  bool nul = has_nul(options.path) || has_nul(options.working_directory) ||
             std::ranges::any_of(options.argv, has_nul) || std::ranges::any_of(options.environment, has_nul);
  if (nul) return fail(ErrorKind::kInvalid, "spawn: a NUL byte in path, arguments or environment");
  for (const std::string& entry : options.environment)
    if (entry.find('=') == std::string::npos || entry.front() == '=')
      return fail(ErrorKind::kInvalid, "spawn: an environment entry is not NAME=value");
  if (options.controlling_terminal && options.group != SpawnOptions::Group::kNewSession)
    return fail(ErrorKind::kInvalid, "spawn: a controlling terminal needs a new session");
  if (options.user && (options.user->uid == 0 || options.user->gid == 0))
    return fail(ErrorKind::kInvalid, "spawn: not an unprivileged user");
  return success();
}

// The mappings with /dev/null (source -1) for standard streams that have none, sorted by target.
Result<void> plan_descriptors(const SpawnOptions& options, Plan& plan) {
  for (const DescriptorMapping& mapping : options.descriptors) {
    if (mapping.child_fd < 0 || mapping.fd < 0)
      return fail(ErrorKind::kInvalid, "spawn: a negative descriptor is mapped");
    plan.mappings[plan.count++] = mapping;
  }
  for (int standard = 0; standard <= 2; ++standard) {
    bool mapped = std::ranges::any_of(options.descriptors, [&](const auto& m) { return m.child_fd == standard; });
    if (!mapped) plan.mappings[plan.count++] = {standard, -1};
  }
  auto used = std::span(plan.mappings).first(plan.count);
  std::ranges::sort(used, {}, &DescriptorMapping::child_fd);
  if (std::ranges::adjacent_find(used, {}, &DescriptorMapping::child_fd) != used.end())
    return fail(ErrorKind::kInvalid, "spawn: a descriptor of the child is mapped twice");
  return success();
}

// Clones with every signal blocked, so that no handler of ours runs in the child. Like fork, but with a pidfd from the
// start, and without fork's handlers, which take locks.
pid_t clone_blocked(Plan& plan, int& pidfd) {
  sigset_t all, previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  auto pid = static_cast<pid_t>(syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, nullptr, &pidfd, nullptr, nullptr));
  if (pid == 0) ChildSide(plan).run();
  int error = errno;
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  errno = error;
  return pid;
}

void kill_and_reap(const Child& child) {
  syscall(SYS_pidfd_send_signal, child.pidfd.get(), SIGKILL, nullptr, 0);
  siginfo_t info{};
  while (waitid(P_PIDFD, static_cast<id_t>(child.pidfd.get()), &info, WEXITED) != 0 && errno == EINTR) {
  }
}

// Reads the status pipe: closed by exec (nothing to read) or holding a Failure.
Result<void> await_exec(int status_fd, const std::string& path) {
  Deadline deadline = Deadline::after(kExecTimeout);
  for (;;) {
    pollfd wait{status_fd, POLLIN, 0};
    int ready = poll(&wait, 1, deadline.poll_timeout(Clock::now()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return fail_errno("spawn: poll");
    if (ready == 0) return fail(ErrorKind::kTimedOut, "spawn " + escape_text(path) + ": no exec within 10 s");
    Failure failure{};
    ssize_t got = read(status_fd, &failure, sizeof failure);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) return success();
    if (got != sizeof failure) return fail(ErrorKind::kInternal, "spawn: the status pipe is broken");
    return fail(Error::from_errno("spawn " + escape_text(path) + ": " + name_of(failure.step), failure.error));
  }
}

}  // namespace

Result<Child> spawn(const SpawnOptions& options) {
  BOOST_OUTCOME_TRY(check(options));
  std::vector<char*> argv = pointers_to(options.argv);
  if (options.argv.empty()) argv.insert(argv.begin(), const_cast<char*>(options.path.c_str()));
  std::vector<char*> environment = pointers_to(options.environment);

  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail_errno("spawn: pipe2");
  UniqueFd read_end(ends[0]), write_end(ends[1]);

  Plan plan{};
  plan.path = options.path.c_str();
  plan.argv = argv.data();
  plan.environment = environment.data();
  plan.working_directory = options.working_directory.empty() ? nullptr : options.working_directory.c_str();
  plan.group = options.group;
  plan.controlling_terminal = options.controlling_terminal.value_or(-1);
  plan.user = options.user ? &*options.user : nullptr;
  plan.die_with_parent = options.die_with_parent;
  plan.parent = getpid();
  plan.status_fd = write_end.get();
  BOOST_OUTCOME_TRY(plan_descriptors(options, plan));

  int pidfd = -1;
  pid_t pid = clone_blocked(plan, pidfd);
  if (pid < 0) return fail_errno("spawn: clone");
  Child child{pid, UniqueFd(pidfd)};
  write_end.reset();
  auto started = await_exec(read_end.get(), options.path);
  if (!started) {
    kill_and_reap(child);
    return fail(std::move(started).error());
  }
  return child;
}

}  // namespace sallyport::sys
