// For tests: attempts by a confined child, each beside the same attempt by one that is not confined.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>

#include "core/sys/confine.h"
#include "core/sys/test_child.h"

namespace sallyport::sys::testing {

enum class As { kRoot, kOrdinaryUser };

inline Confinement usual(As who) {
  Confinement wanted;
  if (who == As::kRoot) wanted.user = kProxyUser;
  wanted.network = Confinement::Network::kUse;
  wanted.filter.event_loop().sockets_inet().splice().receive_descriptors();
  return wanted;
}

class Confine : public ::testing::TestWithParam<As> {
 protected:
  void SetUp() override {
    if (GetParam() == As::kRoot && geteuid() != 0) GTEST_SKIP() << "needs root";
    if (testing::kUnderTsan) GTEST_SKIP() << "needs a process with one thread";
  }
  static bool become() { return GetParam() == As::kRoot || testing::become_ordinary_user(); }

  using Body = std::function<int()>;
  // `before` runs in the child before confinement, `attempt` after.
  static ExitStatus confined(const Confinement& wanted, const Body& attempt, const Body& before = [] { return 0; }) {
    return in_child([&] {
      if (!become() || before() != 0) return kSetupFailed;
      auto report = confine(wanted);
      if (!report) dprintf(STDERR_FILENO, "confine: %s\n", report.error().to_string().c_str());
      return report ? attempt() : kSetupFailed;
    });
  }
  static ExitStatus confined(const Body& attempt) { return confined(usual(GetParam()), attempt); }
  static ExitStatus confined_with(const char* call, const Body& attempt, const Body& before = [] { return 0; }) {
    Confinement wanted = usual(GetParam());
    wanted.filter.allow(call);
    return confined(wanted, attempt, before);
  }
  // The same attempt by the same user, not confined.
  static ExitStatus control(const Body& attempt, const Body& before = [] { return 0; }) {
    return in_child([&] { return become() && before() == 0 ? attempt() : kSetupFailed; });
  }
};

// How a call that is not on the list ends.
inline const ExitStatus kKilled = killed_by(SIGSYS);

inline int open_passwd() { return outcome(open("/etc/passwd", O_RDONLY | O_CLOEXEC)); }

}  // namespace sallyport::sys::testing

// Runs the tests of SUITE as both users.
#define SALLYPORT_AS_BOTH_USERS(SUITE)                                                                       \
  INSTANTIATE_TEST_SUITE_P(                                                                                  \
      Users, SUITE,                                                                                          \
      ::testing::Values(::sallyport::sys::testing::As::kRoot, ::sallyport::sys::testing::As::kOrdinaryUser), \
      [](const auto& who) { return who.param == ::sallyport::sys::testing::As::kRoot ? "Root" : "OrdinaryUser"; })
