#include "sandbox-launcher/sandbox/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "core/base/escape.h"
#include "core/sys/directory.h"
#include "core/sys/privileges.h"
#include "sandbox-launcher/rootfs/stage.h"
#include "sandbox-launcher/sandbox/keeper_frame.h"
#include "sandbox-launcher/sandbox/program.h"
#include "sandbox-launcher/spec/spec.h"

namespace sallyport::launcher {
namespace {

constexpr auto kKillTime = std::chrono::seconds(5);
constexpr auto kForgetTime = std::chrono::seconds(10);

// --- The child that becomes the runtime ---

// Everything is close-on-exec except what `wanted` maps, which is moved to its number.
Result<void> arrange_descriptors(std::initializer_list<std::pair<int, int>> wanted) {
  std::vector<std::pair<int, int>> moved;
  for (auto [fd, number] : wanted) {
    if (fd < 0) continue;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 64);  // above every wanted number
    if (high < 0) return fail_errno("fcntl");
    moved.emplace_back(high, number);
  }
  if (close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) < 0) return fail_errno("close_range");
  for (auto [high, number] : moved)
    if (dup2(high, number) < 0) return fail_errno("dup2");
  return success();
}

Result<void> become_runtime(const KeeperJob& job) {
  BOOST_OUTCOME_TRY(enter_private_mounts());
  BOOST_OUTCOME_TRY(build_stage(job.plan, job.stage_point));
  if (job.become_task_user) {
    BOOST_OUTCOME_TRY(sys::drop_to({kTaskHostId, kTaskHostId}));
  }
  BOOST_OUTCOME_TRY(arrange_descriptors({{job.input.get(), 0},
                                         {job.output.get(), 1},
                                         {job.error.get(), 2},
                                         {job.channel.get(), 3},
                                         {job.arguments.get(), kArgumentsFd},
                                         {job.filter.get(), kFilterFd}}));
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  umask(022);
  std::vector<char*> argv;
  for (const auto& argument : job.runtime) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  char* environment[] = {path, nullptr};
  execve(argv[0], argv.data(), environment);
  return fail_errno("start " + job.runtime[0]);
}

// --- The keeper itself ---

// By the keeper, not by the launcher: from the first file on there is somebody to remove it.
Result<void> make_directory(const KeeperJob& job) {
  if (job.directory.empty()) return success();
  BOOST_OUTCOME_TRY(auto directory, sys::PrivateDirectory::create(job.directory));
  BOOST_OUTCOME_TRY(auto file, directory.create_file("config.json"));
  if (write(file.get(), job.config.data(), job.config.size()) != static_cast<ssize_t>(job.config.size()))
    return fail_errno("write config.json");
  return success();
}

void report_failure(const Error& error, int channel) {
  KeeperFrame frame;
  frame.type = KeeperFrame::Type::kFailed;
  frame.kind = error.kind;
  frame.code = error.code;
  frame.text = error.detail;
  send_frame(channel, frame);
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::ifstream file("/proc/thread-self/children");
  for (pid_t pid = 0; file >> pid;) found.push_back(pid);
  return found;
}

CleanupStep kill_descendants() {
  CleanupStep step{"process tree", false, ""};
  Deadline deadline = Deadline::after(kKillTime);
  // A killed parent hands its children to this process: again until none is left.
  for (;;) {
    for (pid_t pid : children()) kill(pid, SIGKILL);
    pid_t reaped = waitpid(-1, nullptr, WNOHANG);
    if (reaped > 0 || (reaped < 0 && errno == EINTR)) continue;
    if (reaped < 0) {
      step.completed = true;
      return step;
    }
    if (deadline.passed(Clock::now())) break;
    usleep(2000);
  }
  step.error = "processes are still there after 5 s";
  return step;
}

CleanupStep forget(const KeeperJob& job) {
  CleanupStep step{"runtime record", true, ""};
  if (job.forget.empty()) return step;
  auto answer = run_program(job.forget, Deadline::after(kForgetTime));
  step.completed = answer && answer.value().succeeded;
  if (!answer) {
    step.error = answer.error().to_string();
  } else if (!step.completed) {
    step.error = escape_text(answer.value().output, 300);
  }
  return step;
}

CleanupStep check_cgroup(const KeeperJob& job) {
  CleanupStep step{"cgroup", true, ""};
  if (job.cgroup.empty()) return step;
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::vector<fs::path> tops = {"/sys/fs/cgroup"};
  for (const auto& entry : fs::directory_iterator("/sys/fs/cgroup", ignored))
    if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) tops.push_back(entry.path());
  for (const auto& top : tops) {
    fs::path left = top / job.cgroup;
    if (rmdir(left.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) continue;
    step.completed = false;
    step.error = Error::from_errno("remove " + left.string()).to_string();
  }
  return step;
}

CleanupStep remove_directory(const KeeperJob& job) {
  CleanupStep step{"state of the sandbox", true, ""};
  struct stat facts{};
  if (job.directory.empty() || (lstat(job.directory.c_str(), &facts) < 0 && errno == ENOENT)) return step;
  auto directory = sys::PrivateDirectory::open_or_create(job.directory);
  auto removed = directory ? directory.value().remove() : Result<void>(fail(directory.error()));
  step.completed = removed.has_value();
  if (!removed) step.error = removed.error().to_string();
  return step;
}

void clean_up(const KeeperJob& job, int channel) {
  for (auto take : {+[](const KeeperJob&) { return kill_descendants(); }, +forget, +check_cgroup, +remove_directory}) {
    CleanupStep step = take(job);
    KeeperFrame frame;
    frame.type = KeeperFrame::Type::kStep;
    frame.completed = step.completed;
    frame.text = step.name;
    frame.error = step.error;
    send_frame(channel, frame);
  }
  send_frame(channel, KeeperFrame{});
}

void reap(pid_t runtime, int channel) {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid != runtime) continue;
    KeeperFrame frame;
    frame.type = KeeperFrame::Type::kEnded;
    frame.code = status;
    send_frame(channel, frame);
  }
}

// Until the launcher says so, or is gone.
void keep(pid_t runtime, int channel, int signals) {
  for (;;) {
    pollfd polled[2] = {{channel, POLLIN, 0}, {signals, POLLIN, 0}};
    if (poll(polled, 2, -1) < 0 && errno != EINTR) return;
    if (polled[1].revents != 0) {
      signalfd_siginfo info;
      while (read(signals, &info, sizeof info) > 0) {
      }
      reap(runtime, channel);
    }
    if (polled[0].revents != 0) {
      (void)receive_frame(channel);  // unread, it would reset the channel under the answers
      return;
    }
  }
}

[[noreturn]] void keeper_main(const KeeperJob& job, int inherited) {
  // A session of its own: Ctrl-C is for the launcher to handle.
  setsid();
  prctl(PR_SET_NAME, "sallyport-keep");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP}) signal(number, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_SETMASK, &child, nullptr);

  auto made = make_directory(job);
  if (!made) report_failure(made.error(), inherited);
  pid_t runtime = made ? fork() : -1;
  if (runtime == 0) {
    auto failed = become_runtime(job);
    report_failure(failed.error(), inherited);
    _exit(125);
  }
  // From here on it holds its channel and nothing else of the launcher's.
  int channel = 3;
  if (inherited != channel) dup2(inherited, channel);
  fcntl(channel, F_SETFD, FD_CLOEXEC);
  close_range(4, ~0u, 0);
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= 2; ++fd) dup2(nothing, fd);
  int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (runtime > 0 && signals >= 0) keep(runtime, channel, signals);
  clean_up(job, channel);
  _exit(0);
}

}  // namespace

Result<Keeper> Keeper::start(KeeperJob job) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno("socketpair");
  UniqueFd near(ends[0]), far(ends[1]);
  pid_t pid = fork();
  if (pid < 0) return fail_errno("fork the keeper");
  if (pid == 0) {
    near.reset();
    keeper_main(job, far.get());
  }
  return Keeper(pid, std::move(near));
}

std::optional<Error> Keeper::failure() {
  auto frame = receive_frame(channel_.get());
  if (!frame) return Error::make(ErrorKind::kInternal, "the sandbox's keeper is gone");
  if (frame->type == KeeperFrame::Type::kFailed) return Error{frame->kind, frame->code, frame->text};
  if (!WIFEXITED(frame->code)) return Error::make(ErrorKind::kInternal, "the runtime was killed by a signal");
  int status = WEXITSTATUS(frame->code);
  if (status == 0) return std::nullopt;
  return Error{ErrorKind::kInternal, status, "the runtime ended with status " + std::to_string(status)};
}

std::vector<CleanupStep> Keeper::finish(Deadline deadline) {
  std::vector<CleanupStep> steps;
  if (pid_ < 0) return steps;
  KeeperFrame request;
  request.type = KeeperFrame::Type::kFinish;
  send_frame(channel_.get(), request);
  bool done = false;
  while (!done) {
    pollfd polled{channel_.get(), POLLIN, 0};
    int ready = poll(&polled, 1, deadline.poll_timeout(Clock::now()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    auto frame = receive_frame(channel_.get());
    if (!frame) break;
    if (frame->type == KeeperFrame::Type::kStep) steps.push_back({frame->text, frame->completed, frame->error});
    done = frame->type == KeeperFrame::Type::kDone;
  }
  if (!done) {
    steps.push_back({"keeper", false, "it did not finish in time, and goes on by itself"});
    channel_.reset();
    waitpid(pid_, nullptr, WNOHANG);
  } else {
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
  return steps;
}

}  // namespace sallyport::launcher
