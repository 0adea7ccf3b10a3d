// Landlock: the kernel's own refusal of file, TCP and signalling rights, for a process and all that it starts.
#pragma once

#include <vector>

#include "core/base/result.h"

namespace sallyport::sys {

// A directory below which a confined process keeps some rights. `fd` is an O_PATH or readable descriptor, borrowed.
struct DirectoryGrant {
  enum class Rights {
    kRead,    // open files for reading, list directories
    kAppend,  // kRead, and create regular files and write; not truncate, remove, link or rename
  };
  int fd;
  Rights rights;
};

struct LandlockRules {
  bool deny_tcp = true;  // TCP bind and connect, where the kernel's ABI (4) has it
  std::vector<DirectoryGrant> directories;
};

// The version of Landlock that the kernel offers; 0 when it has none.
int landlock_abi() noexcept;

// Handles every file system right that the ABI knows and grants only `directories`; abstract Unix sockets and signals
// to processes outside are denied where the ABI (6) has scopes. Files already open are not affected. Needs
// no_new_privs. Returns the ABI in force, 0 when the kernel has no Landlock: then nothing is restricted and the caller
// decides.
Result<int> restrict_with_landlock(const LandlockRules& rules);

}  // namespace sallyport::sys
