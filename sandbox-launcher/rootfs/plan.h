// RootPlan: what a task's root consists of, as a list; nothing is mounted yet.
//
// An allow list: whatever is not an entry does not exist inside. The host's /usr (with /bin, /lib and the like), named
// files of its /etc, and nothing of /var, /srv, /opt, /root, /home, /run or /sys. Files of /etc that say who and where
// the task is are written by Sallyport. A given tree (--rootfs) replaces the host's, entry by entry, with the same
// files written by Sallyport.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ip_address.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/base/units.h"
#include "sandbox-launcher/workspace/directory.h"

namespace sallyport::launcher {

struct RootEntry {
  enum class Kind {
    kDirectory,  // an empty one
    kBind,       // a file or directory of the host, the one that is pinned
    kSymlink,    // `source` is its target
    kFile,       // `source` is its content
    kScratch,    // a tmpfs of `size`, owned by `owner`
  };
  Kind kind = Kind::kDirectory;
  std::string path;    // inside: absolute, without symbolic links of its own
  std::string source;  // kBind: canonical path on the host
  mode_t mode = 0755;  // kDirectory, kFile, kScratch
  bool writable = false;
  bool host_tree = false;  // kBind of the system's own files: file systems mounted below it may come along
  ByteCount size{};
  std::uint32_t owner = 0;
  UniqueFd pinned{};  // kBind: O_PATH; what is mounted must have this device and inode
  dev_t device = 0;
  ino_t inode = 0;
  UniqueFd idmap{};  // kBind: a user namespace that maps the owner, or none
};

struct RootPlan {
  std::vector<RootEntry> entries;  // a parent stands before what is in it
};

struct RootRequest {
  std::optional<PinnedDirectory> rootfs;
  std::optional<PinnedDirectory> workspace;
  UniqueFd workspace_idmap{};  // for the workspace, or none
  std::vector<PinnedDirectory> read_only;
  std::string host_name;  // of the task, a DNS label
  IpAddress resolver = IpAddress::v4({127, 0, 0, 1});
  std::uint32_t task_id = 0;  // owner of the scratch directories, as the launcher's user namespace numbers it
  ByteCount tmp_size{};
};

// kInvalid when the given tree has no usable shape (its /etc a symbolic link, a --ro below /workspace, …).
Result<RootPlan> plan_root(RootRequest request);

}  // namespace sallyport::launcher
