// sallyport-init: pid 1 of a sandbox.
//
//   sallyport-init [--terminal] [--processes N] [--data BYTES] [--directory DIR] -- COMMAND [ARGUMENT…]
//
// Started by runc or bwrap as the task's user, without capabilities, under the system-call filter, with descriptor 3
// to the launcher (protocol.h). It waits there until the network namespace is attached, runs the command, reaps
// orphans, reports the command's own end and exits. It has no allocation and no parser beyond its own arguments.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox-launcher/init/protocol.h"

namespace sallyport::launcher {
namespace {

constexpr int kPlatformFailure = 125;

struct Options {
  bool terminal = false;
  rlim_t processes = RLIM_INFINITY;
  rlim_t data = RLIM_INFINITY;
  const char* directory = nullptr;
  char** command = nullptr;
};

// The launcher writes these arguments; anything unexpected is a bug there and ends the sandbox.
bool read_options(char** argv, Options& options) {
  for (++argv; *argv != nullptr; ++argv) {
    if (strcmp(*argv, "--") == 0) {
      options.command = argv + 1;
      return argv[1] != nullptr;
    }
    if (strcmp(*argv, "--terminal") == 0) {
      options.terminal = true;
      continue;
    }
    const char* value = argv[1];
    if (value == nullptr) return false;
    if (strcmp(*argv, "--processes") == 0) {
      options.processes = strtoull(value, nullptr, 10);
    } else if (strcmp(*argv, "--data") == 0) {
      options.data = strtoull(value, nullptr, 10);
    } else if (strcmp(*argv, "--directory") == 0) {
      options.directory = value;
    } else {
      return false;
    }
    ++argv;
  }
  return false;
}

void tell(InitMessageType type, int value, int passed = -1) {
  InitMessage message;
  message.type = type;
  message.value = value;
  iovec part{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (passed >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &passed, sizeof passed);
  }
  while (sendmsg(kInitChannel, &header, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
}

// False at the end of the channel.
bool hear(InitMessage& message) {
  ssize_t n = 0;
  do {
    n = recv(kInitChannel, &message, sizeof message, 0);
  } while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(sizeof message) && message.magic == InitMessage::kMagic;
}

[[noreturn]] void give_up(const char* step) {
  int code = errno;
  dprintf(STDERR_FILENO, "sallyport-init: %s: %s\n", step, strerror(code));
  tell(InitMessageType::kFailed, code);
  _exit(kPlatformFailure);
}

// A terminal of the sandbox's own devpts on 0, 1 and 2, controlling this session; returns its master side.
int open_terminal() {
  int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
  int unlocked = 0;
  if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0) give_up("open a pseudo-terminal");
  int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
  if (slave < 0) give_up("open the pseudo-terminal's other side");
  setsid();  // fails when the runtime has done it: then this already leads a session
  if (ioctl(slave, TIOCSCTTY, 0) < 0) give_up("take the pseudo-terminal as controlling terminal");
  for (int fd = 0; fd <= 2; ++fd)
    if (dup2(slave, fd) < 0) give_up("dup2");
  if (slave > 2) close(slave);
  return master;
}

[[noreturn]] void run_command(const Options& options) {
  setpgid(0, 0);
  if (options.terminal) tcsetpgrp(STDIN_FILENO, getpid());  // SIGTTOU is still blocked here
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);  // the host's handler would get it
  if (options.processes != RLIM_INFINITY) {
    rlimit limit{options.processes, options.processes};
    if (setrlimit(RLIMIT_NPROC, &limit) < 0) give_up("set the processes limit");
  }
  if (options.data != RLIM_INFINITY) {
    rlimit limit{options.data, options.data};
    if (setrlimit(RLIMIT_DATA, &limit) < 0) give_up("set the memory limit");
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvp(options.command[0], options.command);
  int code = errno;
  dprintf(STDERR_FILENO, "sallyport: %s: %s\n", options.command[0], strerror(code));
  _exit(code == ENOENT || code == ENOTDIR ? 127 : 126);
}

// Init keeps no end of the task's streams: their end of file means that the task has closed them.
void let_go_of_streams() {
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd <= 2; ++fd) {
    if (nothing < 0) {
      close(fd);
    } else {
      dup2(nothing, fd);
    }
  }
}

// Reaps what ended. True when `command` was among it, with its wait status.
bool reap(pid_t command, int& status) {
  bool ended = false;
  for (;;) {
    int one = 0;
    pid_t pid = waitpid(-1, &one, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return ended;
    if (pid == command) {
      status = one;
      ended = true;
    }
  }
}

int watch(pid_t command, int signals) {
  for (;;) {
    int status = 0;
    if (reap(command, status)) {
      if (WIFSIGNALED(status)) {
        tell(InitMessageType::kKilledBySignal, WTERMSIG(status));
        return 128 + WTERMSIG(status);
      }
      tell(InitMessageType::kExited, WEXITSTATUS(status));
      return WEXITSTATUS(status);
    }
    pollfd polled[2] = {{signals, POLLIN, 0}, {kInitChannel, POLLIN, 0}};
    if (poll(polled, 2, -1) < 0 && errno != EINTR) return kPlatformFailure;
    if (polled[0].revents != 0) {
      signalfd_siginfo info;
      if (read(signals, &info, sizeof info) < 0 && errno != EAGAIN && errno != EINTR) return kPlatformFailure;
    }
    if (polled[1].revents != 0) {
      InitMessage message;
      if (!hear(message)) return kPlatformFailure;  // the launcher is gone: so is the sandbox
      if (message.type == InitMessageType::kSignal) kill(-command, message.value);
    }
  }
}

int init_main(char** argv) {
  Options options;
  if (!read_options(argv, options)) {
    errno = EINVAL;
    give_up("arguments");
  }
  // The task has the same uid: without this it could stop init with ptrace.
  prctl(PR_SET_DUMPABLE, 0);
  fcntl(kInitChannel, F_SETFD, FD_CLOEXEC);
  close_range(kInitChannel + 1, ~0u, 0);
  if (options.directory != nullptr && chdir(options.directory) < 0) give_up(options.directory);

  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) give_up("signalfd");

  int master = options.terminal ? open_terminal() : -1;
  tell(InitMessageType::kHello, 0, master);
  if (master >= 0) close(master);

  InitMessage message;
  if (!hear(message) || message.type != InitMessageType::kStart) return kPlatformFailure;
  pid_t command = fork();
  if (command < 0) give_up("fork");
  if (command == 0) run_command(options);
  let_go_of_streams();
  return watch(command, signals);
}

}  // namespace
}  // namespace sallyport::launcher

int main(int, char** argv) { return sallyport::launcher::init_main(argv); }
