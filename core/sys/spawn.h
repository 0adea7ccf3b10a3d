// Starting a program with exactly what it is given, and nothing else.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/sys/privileges.h"

namespace sallyport::sys {

// The child's descriptor `child_fd` becomes a duplicate of `fd`. `fd` is borrowed for the length of the call and may be
// any number, also one that is another mapping's child_fd.
struct DescriptorMapping {
  int child_fd;
  int fd;
};

// What a child is given. Everything not said here it does not get: the environment is exact, every descriptor that is
// not mapped is closed, standard streams that are not mapped are /dev/null, signal handlers and mask are the default
// ones.
struct SpawnOptions {
  enum class Group { kInherit, kNewGroup, kNewSession };

  std::string path;                            // the program's file; PATH is not searched
  std::vector<std::string> argv;               // the whole vector, name first; empty: just `path`
  std::vector<std::string> environment;        // NAME=value
  std::vector<DescriptorMapping> descriptors;  // at most kMaxDescriptors, each child_fd once
  std::string working_directory;               // empty: the caller's
  Group group = Group::kNewGroup;
  std::optional<int> controlling_terminal;  // a child_fd that is a terminal; needs kNewSession
  std::optional<User> user;                 // become this user before exec; needs root
  // SIGKILL when the *thread* that spawned it ends (PR_SET_PDEATHSIG): spawn from a thread that lives as long as the
  // child should. A child whose parent is already gone does not start. A later change of user inside the child clears
  // the signal; sys::confine sets it again.
  bool die_with_parent = true;

  static constexpr std::size_t kMaxDescriptors = 64;
};

// A started child that nobody has waited for yet. `pidfd` is close-on-exec and names it for good.
struct Child {
  pid_t pid = -1;
  UniqueFd pidfd;
};

// Starts `options.path`. Returns after exec has succeeded; when any step before or exec itself fails, the child is gone
// and reaped and the error names the step (exit status 127 is never used for it). Bounded by 10 s (kTimedOut). Nothing
// is allocated and no lock is taken between fork and exec. Callable from any thread.
Result<Child> spawn(const SpawnOptions& options);

}  // namespace sallyport::sys
