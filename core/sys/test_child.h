// For tests: a forked child that runs a function, and how it ended. Every wait is bounded.
#pragma once

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <functional>

#include "core/base/deadline.h"
#include "core/sys/child_process.h"
#include "core/sys/namespaces.h"

namespace sallyport::sys::testing {

inline constexpr User kNobody{65534, 65534};

// Exit codes of a child: 0, the errno of what failed, or this when the set-up failed.
inline constexpr int kSetupFailed = 250;

// ThreadSanitizer runs a thread of its own, and the kernel lets only a process with one thread make a user namespace.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SALLYPORT_TEST_UNDER_TSAN 1
#endif
#endif
#if defined(SALLYPORT_TEST_UNDER_TSAN)
inline constexpr bool kUnderTsan = true;
#else
inline constexpr bool kUnderTsan = false;
#endif

inline ChildProcess fork_child(const std::function<int()>& body) {
  pid_t pid = fork();
  if (pid == 0) {
    alarm(30);
    _exit(body());
  }
  auto pidfd = open_pidfd(pid);
  EXPECT_TRUE(pidfd);
  return ChildProcess(Child{pid, std::move(pidfd).value()});
}

inline ExitStatus in_child(const std::function<int()>& body) {
  ChildProcess child = fork_child(body);
  auto status = child.wait(Deadline::after(std::chrono::seconds(25)));
  EXPECT_TRUE(status) << "the child does not end";
  return status ? status.value() : ExitStatus{ExitStatus::How::kExited, kSetupFailed};
}

inline ExitStatus exited(int value) { return {ExitStatus::How::kExited, value}; }
inline ExitStatus killed_by(int number) { return {ExitStatus::How::kSignalled, number}; }

// As an ordinary user: when the test runs as root, by becoming nobody; dumpable again, like a process that always was
// one.
inline bool become_ordinary_user() {
  return geteuid() != 0 || (drop_to(kNobody).has_value() && prctl(PR_SET_DUMPABLE, 1) == 0);
}

// errno of a call as an exit code.
inline int outcome(long result) { return result >= 0 ? 0 : errno; }

}  // namespace sallyport::sys::testing

namespace sallyport::sys {
inline void PrintTo(const ExitStatus& status, std::ostream* out) { *out << status.text(); }
}  // namespace sallyport::sys
