// PinnedDirectory: a directory of the host, opened once; what is checked is what is mounted.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace sallyport::launcher {

// The descriptor (O_PATH) keeps the inode, so `device` and `inode` name this directory and no other while it lives.
struct PinnedDirectory {
  UniqueFd fd;
  std::string path;  // canonical: absolute, without symbolic links
  dev_t device = 0;
  ino_t inode = 0;
  uid_t owner = 0;
  gid_t group = 0;
};

// `path` may go through symbolic links: they are the caller's, and followed once, now. kInvalid when it is no
// directory.
Result<PinnedDirectory> pin_directory(const std::string& path, std::string_view option);

// What a task must never be given, beside a fixed list (/, /proc, /sys, /dev, /run, /etc, /boot, container engines'
// directories, …).
struct Sensitive {
  std::string state_dir;           // nor what lies below it or holds it
  std::vector<std::string> homes;  // whole home directories: they hold credentials
};
// The state directory and the homes of the calling user, of root, and /home itself.
Sensitive sensitive_of_caller(const std::string& state_dir);

// kDenied, with the reason, when `directory` is sensitive, holds something sensitive, or lies in a place of credentials
// (.ssh, .aws, …).
Result<void> refuse_sensitive(const PinnedDirectory& directory, const Sensitive& sensitive, std::string_view option);

// kDenied when a socket lies anywhere in the directory: a path-named Unix socket is a way out that no network namespace
// closes. Looks at up to kMaxEntries names on the directory's own file system, at most kMaxDepth deep; more is
// kOverloaded.
inline constexpr std::size_t kMaxEntries = 2'000'000;
inline constexpr unsigned kMaxDepth = 512;
Result<void> refuse_sockets(const PinnedDirectory& directory, std::string_view option);

}  // namespace sallyport::launcher
