#include "core/sys/confine.h"

#include <sched.h>
#include <signal.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/sys/empty_root.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define SALLYPORT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define SALLYPORT_TSAN 1
#endif
#endif

namespace sallyport::sys {
namespace {

#if defined(SALLYPORT_TSAN)
constexpr int kMaxThreads = 2;  // the sanitiser's own thread
#else
constexpr int kMaxThreads = 1;
#endif

// The signal that this process gets when its parent ends. The kernel clears it whenever credentials change.
class ParentDeathSignal {
 public:
  ParentDeathSignal() : parent_(getppid()) { prctl(PR_GET_PDEATHSIG, &signal_, 0, 0, 0); }
  Result<void> arm_again() const {
    if (signal_ == 0) return success();
    if (prctl(PR_SET_PDEATHSIG, signal_, 0, 0, 0) != 0) return fail_errno("PR_SET_PDEATHSIG");
    if (getppid() != parent_) return fail(ErrorKind::kDisconnected, "confine: the parent process has ended");
    return success();
  }

 private:
  pid_t parent_;
  int signal_ = 0;
};

Result<void> check(const Confinement& wanted) {
  if (wanted.filter.empty()) return fail(ErrorKind::kInvalid, "confine: no system call filter");
  bool root = geteuid() == 0;
  if (wanted.user && !root) return fail(ErrorKind::kInvalid, "confine: a user to change to needs root");
  BOOST_OUTCOME_TRY(auto self, process_credentials(0));
  if (self.threads > kMaxThreads)
    return fail(ErrorKind::kInvalid, "confine: called with " + std::to_string(self.threads) + " threads");
  if (root && !wanted.user) {
    // Root of a user namespace that has only itself may lack another user; real root never does.
    BOOST_OUTCOME_TRY(auto initial, in_initial_user_namespace());
    if (initial) return fail(ErrorKind::kInvalid, "confine: root must say which user to become");
  }
  return success();
}

Result<void> isolate_as_root(User user, ConfinementReport& report) {
  if (unshare(CLONE_NEWNS) != 0) return fail_errno("unshare of the mount namespace");
  BOOST_OUTCOME_TRY(enter_empty_root());
  report.empty_root = true;
  BOOST_OUTCOME_TRY(drop_bounding_set());
  return drop_to(user);
}

Result<void> isolate_as_ordinary_user(const Confinement& wanted, ConfinementReport& report) {
  auto isolated = unshare_user_and_mounts();
  report.user_namespace = isolated.has_value();
  // AppArmor may permit the namespace and deny what is done in it.
  if (isolated) isolated = enter_empty_root();
  report.empty_root = isolated.has_value();
  if (isolated || isolated.error().kind != ErrorKind::kDenied || !wanted.without_user_namespace) return isolated;
  if (landlock_abi() > 0) return success();
  return fail(ErrorKind::kDenied, "neither user namespaces nor Landlock are available");
}

Result<void> lower(int resource, rlim_t value) {
  auto which = static_cast<__rlimit_resource>(resource);
  rlimit now{};
  if (getrlimit(which, &now) != 0) return fail_errno("getrlimit");
  rlimit lowered{std::min(now.rlim_cur, value), std::min(now.rlim_max, value)};
  if (setrlimit(which, &lowered) != 0) return fail_errno("setrlimit");
  return success();
}

Result<void> lower_limits(const Confinement& wanted) {
  BOOST_OUTCOME_TRY(lower(RLIMIT_CORE, 0));
  auto calls = wanted.filter.names();
  if (!std::ranges::binary_search(calls, "clone")) {
    BOOST_OUTCOME_TRY(lower(RLIMIT_NPROC, 0));
  }
  for (const ResourceLimit& limit : wanted.limits) {
    BOOST_OUTCOME_TRY(lower(limit.resource, limit.value));
  }
  return success();
}

bool bounding_set_is_empty() {
  for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; ++cap)
    if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != 0) return false;
  return true;
}

}  // namespace

Result<ConfinementReport> confine(const Confinement& wanted) {
#if defined(SALLYPORT_ASAN)
  // The leak check at exit needs ptrace on ourselves, which is about to be gone: it is done here, and then not again.
  __lsan_do_leak_check();
#endif
  BOOST_OUTCOME_TRY(check(wanted));
  ParentDeathSignal death_signal;
  ConfinementReport report;
  BOOST_OUTCOME_TRY(wanted.user ? isolate_as_root(*wanted.user, report) : isolate_as_ordinary_user(wanted, report));

  BOOST_OUTCOME_TRY(drop_all_capabilities());
  report.bounding_set_empty = bounding_set_is_empty();
  BOOST_OUTCOME_TRY(set_not_dumpable());
  BOOST_OUTCOME_TRY(set_no_new_privs());
  BOOST_OUTCOME_TRY(lower_limits(wanted));
  LandlockRules rules{wanted.network == Confinement::Network::kNoTcp, wanted.directories};
  BOOST_OUTCOME_TRY(report.landlock_abi, restrict_with_landlock(rules));
  BOOST_OUTCOME_TRY(death_signal.arm_again());
  BOOST_OUTCOME_TRY(wanted.filter.install());
  return report;
}

}  // namespace sallyport::sys
