#include "core/sys/spawn.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cerrno>

#include "core/sys/child_process.h"
#include "core/sys/test_child.h"

namespace sallyport::sys {
namespace {

using testing::exited;
using ::testing::HasSubstr;
using testing::in_child;
using testing::killed_by;
using ::testing::Not;

Deadline soon() { return Deadline::after(std::chrono::seconds(10)); }

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) == 0) read.reset(ends[0]), write.reset(ends[1]);
  }
  UniqueFd read, write;
};

std::string read_all(int fd) {
  std::string text;
  char chunk[4096];
  for (ssize_t got = 0; (got = ::read(fd, chunk, sizeof chunk)) > 0;) text.append(chunk, static_cast<std::size_t>(got));
  return text;
}

// The standard output of a program that ends.
std::string output_of(SpawnOptions options) {
  Pipe out;
  options.descriptors.push_back({1, out.write.get()});
  auto child = ChildProcess::start(options);
  EXPECT_TRUE(child) << (child ? "" : child.error().to_string());
  if (!child) return "";
  out.write.reset();
  std::string text = read_all(out.read.get());
  EXPECT_TRUE(child.value().wait(soon()));
  return text;
}

SpawnOptions shell(const std::string& script) {
  SpawnOptions options;
  options.path = "/bin/sh";
  options.argv = {"sh", "-c", script};
  return options;
}

TEST(Spawn, PassesExactlyTheArgumentsAndEnvironment) {
  setenv("SALLYPORT_TEST_LEAK", "1", 1);
  SpawnOptions options;
  options.path = "/usr/bin/env";
  EXPECT_EQ(output_of(options), "");
  options.environment = {"A=b c", "EMPTY="};
  EXPECT_EQ(output_of(options), "A=b c\nEMPTY=\n");
  options.path = "/bin/echo";
  options.argv = {"echo", "$HOME *", "two"};
  EXPECT_EQ(output_of(options), "$HOME * two\n");
  unsetenv("SALLYPORT_TEST_LEAK");
}

TEST(Spawn, ClosesEveryDescriptorThatIsNotMapped) {
  UniqueFd inheritable(open("/dev/zero", O_RDONLY));  // without O_CLOEXEC
  UniqueFd high(fcntl(inheritable.get(), F_DUPFD, 200));
  std::string list = output_of(shell("readlink /proc/self/fd/*"));
  EXPECT_THAT(list, Not(HasSubstr("/dev/zero")));
  SpawnOptions control = shell("readlink /proc/self/fd/*");
  control.descriptors = {{7, inheritable.get()}};
  EXPECT_THAT(output_of(control), HasSubstr("/dev/zero"));
}

TEST(Spawn, MapsDescriptorsThatStandInEachOthersWay) {
  Pipe first, second;
  ASSERT_EQ(write(first.write.get(), "1\n", 2), 2);
  ASSERT_EQ(write(second.write.get(), "2\n", 2), 2);
  int a = first.read.get(), b = second.read.get();
  SpawnOptions options = shell("read x <&" + std::to_string(a) + "; read y <&" + std::to_string(b) + "; echo $x $y");
  options.descriptors = {{a, b}, {b, a}};
  EXPECT_EQ(output_of(options), "2 1\n");
}

TEST(Spawn, GivesNullForUnmappedStandardStreams) {
  EXPECT_EQ(output_of(shell("readlink /proc/self/fd/0 /proc/self/fd/2; cat")), "/dev/null\n/dev/null\n");
}

TEST(Spawn, ReportsAFailedExecAsAnError) {
  SpawnOptions missing;
  missing.path = "/nonexistent/program";
  auto result = spawn(missing);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(result.error().code, ENOENT);
  EXPECT_THAT(result.error().detail, HasSubstr("execve"));

  SpawnOptions no_program;
  no_program.path = "/etc/passwd";
  EXPECT_EQ(spawn(no_program).error().kind, ErrorKind::kDenied);

  SpawnOptions no_directory = shell("exit 0");
  no_directory.working_directory = "/nonexistent";
  EXPECT_THAT(spawn(no_directory).error().detail, HasSubstr("chdir"));

  SpawnOptions bad_descriptor = shell("exit 0");
  bad_descriptor.descriptors = {{5, 987}};
  EXPECT_EQ(spawn(bad_descriptor).error().code, EBADF);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left behind";
  EXPECT_TRUE(ChildProcess::start(shell("exit 0")).value().wait(soon()).value().succeeded());
}

TEST(Spawn, RefusesContradictoryOptions) {
  auto refused = [](auto change) {
    SpawnOptions options = shell("exit 0");
    change(options);
    auto result = spawn(options);
    return !result && result.error().kind == ErrorKind::kInvalid;
  };
  EXPECT_TRUE(refused([](auto& o) { o.path = "sh"; }));
  EXPECT_TRUE(refused([](auto& o) { o.argv.push_back(std::string("a\0b", 3)); }));
  EXPECT_TRUE(refused([](auto& o) { o.environment = {"NO_VALUE"}; }));
  EXPECT_TRUE(refused([](auto& o) { o.environment = {"=x"}; }));
  EXPECT_TRUE(refused([](auto& o) { o.environment = {""}; }));
  EXPECT_TRUE(refused([](auto& o) { o.descriptors = {{4, 0}, {4, 1}}; }));
  EXPECT_TRUE(refused([](auto& o) { o.descriptors = {{-1, 0}}; }));
  EXPECT_TRUE(refused([](auto& o) { o.descriptors.resize(65, {4, 0}); }));
  EXPECT_TRUE(refused([](auto& o) { o.controlling_terminal = 0; }));
  EXPECT_TRUE(refused([](auto& o) { o.user = User{0, 0}; }));
}

TEST(Spawn, ResetsSignals) {
  auto previous = signal(SIGPIPE, SIG_IGN);
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  SpawnOptions options;
  options.path = "/bin/grep";
  options.argv = {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"};
  EXPECT_EQ(output_of(options), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  signal(SIGPIPE, previous);
}

TEST(Spawn, StartsANewGroupOrSession) {
  auto group_and_session = [](SpawnOptions::Group group) {
    SpawnOptions options =
        shell("read pid name state parent group session rest < /proc/self/stat; echo $group $session $$");
    options.group = group;
    int found_group = 0, found_session = 0, pid = 0;
    sscanf(output_of(options).c_str(), "%d %d %d", &found_group, &found_session, &pid);
    return std::pair(found_group == pid, found_session == pid);
  };
  EXPECT_EQ(group_and_session(SpawnOptions::Group::kInherit), std::pair(false, false));
  EXPECT_EQ(group_and_session(SpawnOptions::Group::kNewGroup), std::pair(true, false));
  EXPECT_EQ(group_and_session(SpawnOptions::Group::kNewSession), std::pair(true, true));
}

TEST(Spawn, GivesAControllingTerminal) {
  UniqueFd master(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!master || grantpt(master.get()) != 0 || unlockpt(master.get()) != 0) GTEST_SKIP() << "no pty here";
  UniqueFd terminal(open(ptsname(master.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(terminal);
  SpawnOptions options = shell("if (: > /dev/tty) 2>/dev/null; then echo yes; else echo no; fi");
  options.group = SpawnOptions::Group::kNewSession;
  EXPECT_EQ(output_of(options), "no\n");
  options.descriptors = {{0, terminal.get()}};
  options.controlling_terminal = 0;
  EXPECT_EQ(output_of(options), "yes\n");
}

TEST(Spawn, BecomesAnotherUserWithoutGroups) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  SpawnOptions options = shell("id -u; id -g; id -G");
  options.user = testing::kNobody;
  EXPECT_EQ(in_child([&] {
              gid_t group = 4;
              if (setgroups(1, &group) != 0) return testing::kSetupFailed;
              return output_of(options) == "65534\n65534\n65534\n" ? 0 : 1;
            }),
            exited(0));
}

// Starts `sleep` from a child that then ends; returns whether the sleep goes, seen by the end of a pipe it holds.
bool grandchild_ends(bool die_with_parent) {
  Pipe life, number;
  ExitStatus parent = in_child([&] {
    SpawnOptions options;
    options.path = "/bin/sleep";
    options.argv = {"sleep", "20"};
    options.descriptors = {{5, life.write.get()}};
    options.die_with_parent = die_with_parent;
    auto child = spawn(options);
    bool told = child && write(number.write.get(), &child.value().pid, sizeof(pid_t)) == sizeof(pid_t);
    return told ? 0 : testing::kSetupFailed;
  });
  EXPECT_EQ(parent, exited(0));
  life.write.reset();
  pollfd wait{life.read.get(), POLLIN, 0};
  bool ended = poll(&wait, 1, die_with_parent ? 10000 : 300) == 1;
  pid_t pid = 0;
  if (!ended && read(number.read.get(), &pid, sizeof pid) == sizeof pid) kill(pid, SIGKILL);
  return ended;
}

TEST(Spawn, EndsTheChildWithItsParentWhenTold) {
  EXPECT_TRUE(grandchild_ends(true));
  EXPECT_FALSE(grandchild_ends(false));
}

TEST(ChildProcess, TellsHowItEnded) {
  EXPECT_EQ(ChildProcess::start(shell("exit 3")).value().wait(soon()).value(), exited(3));
  EXPECT_EQ(ChildProcess::start(shell("kill -SEGV $$")).value().wait(soon()).value(), killed_by(SIGSEGV));
  EXPECT_EQ(killed_by(SIGSYS).text(), "killed by SIGSYS (31)");
  EXPECT_EQ(exited(3).text(), "exited with 3");
}

TEST(ChildProcess, WaitsNoLongerThanItsDeadline) {
  auto child = ChildProcess::start(shell("exec sleep 20")).value();
  EXPECT_FALSE(child.try_wait().value());
  auto late = child.wait(Deadline::after(std::chrono::milliseconds(50)));
  EXPECT_EQ(late.error().kind, ErrorKind::kTimedOut);
  ASSERT_TRUE(child.signal(SIGKILL));
  EXPECT_EQ(child.wait(soon()).value(), killed_by(SIGKILL));
  EXPECT_EQ(child.wait(soon()).value(), killed_by(SIGKILL)) << "the answer is kept";
  EXPECT_TRUE(child.signal(SIGTERM));
  EXPECT_FALSE(child.signal_group(SIGTERM));
}

TEST(ChildProcess, TerminateEscalates) {
  Pipe ready;
  SpawnOptions stubborn = shell("trap '' TERM; echo ready; exec sleep 20");
  stubborn.descriptors = {{1, ready.write.get()}};
  auto child = ChildProcess::start(stubborn).value();
  char line[8];
  ASSERT_GT(read(ready.read.get(), line, sizeof line), 0);
  EXPECT_EQ(child.terminate(Deadline::after(std::chrono::milliseconds(100))).value(), killed_by(SIGKILL));
  auto willing = ChildProcess::start(shell("exec sleep 20")).value();
  EXPECT_EQ(willing.terminate(soon()).value(), killed_by(SIGTERM));
}

TEST(ChildProcess, SignalsItsGroup) {
  Pipe life;
  SpawnOptions options = shell("sleep 20 & sleep 20");
  options.descriptors = {{4, life.write.get()}};
  auto child = ChildProcess::start(options).value();
  life.write.reset();
  ASSERT_TRUE(child.signal_group(SIGKILL));
  EXPECT_EQ(child.wait(soon()).value(), killed_by(SIGKILL));
  pollfd wait{life.read.get(), POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 5000), 1) << "a member of the group lives on";
  SpawnOptions shared = shell("exec sleep 20");
  shared.group = SpawnOptions::Group::kInherit;
  EXPECT_FALSE(ChildProcess::start(shared).value().signal_group(SIGKILL)) << "that would be us";
}

TEST(ChildProcess, IsNotLeftBehind) {
  pid_t pid = 0;
  {
    auto child = ChildProcess::start(shell("exec sleep 20")).value();
    pid = child.pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

}  // namespace
}  // namespace sallyport::sys
