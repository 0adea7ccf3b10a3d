#include "sandbox-launcher/rootfs/stage.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/escape.h"

namespace sallyport::launcher {
namespace {

UniqueFd open_resolved(int directory, const char* path, std::uint64_t flags, std::uint64_t resolve) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = resolve;
  return UniqueFd(static_cast<int>(syscall(SYS_openat2, directory, path, &how, sizeof how)));
}

Result<void> write_file(const std::string& path, const std::string& text) {
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail_errno("write " + path);
  return success();
}

class Stage {
 public:
  explicit Stage(UniqueFd root) : root_(std::move(root)) {}

  Result<void> add(const RootEntry& entry) {
    BOOST_OUTCOME_TRY(auto parent, make_directories(entry.path.substr(0, entry.path.rfind('/'))));
    std::string name = entry.path.substr(entry.path.rfind('/') + 1);
    switch (entry.kind) {
      case RootEntry::Kind::kDirectory:
        return make_directory(parent.get(), name, entry);
      case RootEntry::Kind::kSymlink:
        if (symlinkat(entry.source.c_str(), parent.get(), name.c_str()) < 0) return failed(entry, "symlink");
        return success();
      case RootEntry::Kind::kFile:
        return make_file(parent.get(), name, entry);
      case RootEntry::Kind::kBind:
        return bind(parent.get(), name, entry);
      case RootEntry::Kind::kScratch:
        return scratch(parent.get(), name, entry);
    }
    return fail(ErrorKind::kInternal, "root: unknown entry");
  }

  // The stage's own mount becomes read-only; what is mounted on it keeps its own flags.
  Result<void> close() {
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    if (mount_setattr(root_.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0)
      return fail_errno("root: make it read-only");
    return success();
  }

 private:
  static Error error_of(const RootEntry& entry, const char* step) {
    return Error::from_errno("root: " + escape_text(entry.path) + ": " + step);
  }
  static Result<void> failed(const RootEntry& entry, const char* step) { return fail(error_of(entry, step)); }

  // Symbolic links of the staged tree lead within it, as they will for the task.
  UniqueFd inside(const std::string& path) const {
    return open_resolved(root_.get(), path.empty() ? "/" : path.c_str(), O_PATH,
                         RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
  }

  Result<UniqueFd> make_directories(const std::string& path) const {
    for (std::size_t end = path.find('/', 1); !path.empty(); end = path.find('/', end + 1)) {
      std::string part = path.substr(0, end);
      if (!inside(part)) {
        if (errno != ENOENT) return fail_errno("root: open " + escape_text(part));
        UniqueFd above = inside(part.substr(0, part.rfind('/')));
        if (!above || mkdirat(above.get(), part.substr(part.rfind('/') + 1).c_str(), 0755) < 0)
          return fail_errno("root: there is no " + escape_text(part) + " to mount on, and it cannot be made");
      }
      if (end == std::string::npos) break;
    }
    UniqueFd fd = inside(path);
    if (!fd) return fail_errno("root: open " + escape_text(path));
    return fd;
  }

  Result<void> make_directory(int parent, const std::string& name, const RootEntry& entry) const {
    if (mkdirat(parent, name.c_str(), entry.mode) < 0 && errno != EEXIST) return failed(entry, "mkdir");
    return success();
  }

  Result<void> make_file(int parent, const std::string& name, const RootEntry& entry) const {
    UniqueFd file(openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return failed(entry, "create");
    for (std::size_t done = 0; done < entry.source.size();) {
      ssize_t n = write(file.get(), entry.source.data() + done, entry.source.size() - done);
      if (n < 0) return failed(entry, "write");
      done += static_cast<std::size_t>(n);
    }
    if (fchmod(file.get(), entry.mode) < 0) return failed(entry, "chmod");
    return success();
  }

  // Something to mount on, of the kind that will be mounted.
  Result<UniqueFd> mount_point(int parent, const std::string& name, const RootEntry& entry, bool is_directory) const {
    UniqueFd target = inside(entry.path);
    if (!target && errno == ENOENT) {
      if (is_directory) {
        if (mkdirat(parent, name.c_str(), 0755) < 0) return fail(error_of(entry, "make a directory to mount on"));
      } else {
        UniqueFd empty(openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
        if (!empty) return fail(error_of(entry, "make a file to mount on"));
      }
      target = inside(entry.path);
    }
    if (!target) return fail(error_of(entry, "open the place to mount on"));
    return target;
  }

  static Result<void> attach(int tree, int target, const RootEntry& entry) {
    if (move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
      return failed(entry, "mount");
    return success();
  }

  Result<void> bind(int parent, const std::string& name, const RootEntry& entry) const {
    UniqueFd source = open_resolved(AT_FDCWD, entry.source.c_str(), O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
    struct stat facts{};
    if (!source || fstat(source.get(), &facts) < 0) return failed(entry, "open what is to be mounted");
    if (facts.st_dev != entry.device || facts.st_ino != entry.inode)
      return fail(ErrorKind::kDenied,
                  "root: " + escape_text(entry.source) + " was replaced by something else while the sandbox was made");
    unsigned recursive = 0;
    UniqueFd tree(open_tree(source.get(), "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH));
    if (!tree && errno == EINVAL && entry.host_tree) {
      // As an ordinary user a mount cannot be had without what is mounted below it.
      recursive = AT_RECURSIVE;
      tree = UniqueFd(open_tree(source.get(), "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE));
    }
    if (!tree && errno == EINVAL)
      return fail(ErrorKind::kUnavailable,
                  "root: " + escape_text(entry.source) +
                      " has other file systems mounted below it, which an ordinary user cannot leave out");
    if (!tree) return failed(entry, "take the mount");
    BOOST_OUTCOME_TRY(restrict(tree.get(), recursive, entry));
    BOOST_OUTCOME_TRY(auto target, mount_point(parent, name, entry, S_ISDIR(facts.st_mode)));
    return attach(tree.get(), target.get(), entry);
  }

  static Result<void> restrict(int tree, unsigned recursive, const RootEntry& entry) {
    mount_attr attributes{};
    attributes.attr_set =
        MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (entry.writable ? 0u : static_cast<unsigned>(MOUNT_ATTR_RDONLY));
    attributes.propagation = MS_PRIVATE;
    if (mount_setattr(tree, "", AT_EMPTY_PATH | recursive, &attributes, sizeof attributes) < 0)
      return failed(entry, "restrict the mount");
    if (!entry.idmap) return success();
    mount_attr ids{};
    ids.attr_set = MOUNT_ATTR_IDMAP;
    ids.userns_fd = static_cast<std::uint64_t>(entry.idmap.get());
    if (mount_setattr(tree, "", AT_EMPTY_PATH, &ids, sizeof ids) < 0) {
      Error error = error_of(entry, "map its owner to the task");
      if (error.code == EINVAL || error.code == EOPNOTSUPP)
        error = Error{ErrorKind::kUnavailable, error.code,
                      "the file system of " + escape_text(entry.source) +
                          " cannot be mounted with another owner (idmapped mount): copy the workspace to ext4, xfs, "
                          "btrfs or tmpfs, or run as the user that owns it"};
      return fail(std::move(error));
    }
    return success();
  }

  Result<void> scratch(int parent, const std::string& name, const RootEntry& entry) const {
    UniqueFd context(fsopen("tmpfs", FSOPEN_CLOEXEC));
    if (!context) return failed(entry, "fsopen");
    std::string mode(8, '\0');
    mode.resize(static_cast<std::size_t>(snprintf(mode.data(), mode.size(), "%o", static_cast<unsigned>(entry.mode))));
    std::string owner = std::to_string(entry.owner);
    for (auto [key, value] : {std::pair{"size", std::to_string(entry.size.value)}, std::pair{"mode", mode},
                              std::pair{"uid", owner}, std::pair{"gid", owner}})
      if (fsconfig(context.get(), FSCONFIG_SET_STRING, key, value.c_str(), 0) < 0) return failed(entry, key);
    if (fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) < 0) return failed(entry, "make a tmpfs");
    UniqueFd tree(fsmount(context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
    if (!tree) return failed(entry, "fsmount");
    BOOST_OUTCOME_TRY(auto target, mount_point(parent, name, entry, true));
    return attach(tree.get(), target.get(), entry);
  }

  UniqueFd root_;
};

}  // namespace

Result<std::string> choose_stage_point(const std::string& state_dir) {
  for (std::string candidate : {"/mnt", "/media", "/srv", "/opt", "/tmp"}) {
    struct stat facts{};
    if (lstat(candidate.c_str(), &facts) < 0 || !S_ISDIR(facts.st_mode) || (facts.st_mode & S_IXOTH) == 0) continue;
    if ((state_dir + "/").starts_with(candidate + "/")) continue;
    return candidate;
  }
  return fail(ErrorKind::kUnavailable,
              "root: none of /mnt, /media, /srv, /opt and /tmp is a directory to mount on privately");
}

Result<void> enter_private_mounts() {
  uid_t uid = geteuid();
  gid_t gid = getegid();
  if (uid != 0) {
    if (unshare(CLONE_NEWUSER) < 0) {
      Error error = Error::from_errno("make a user namespace");
      error.detail +=
          "; this machine does not let ordinary users make one (see user.max_user_namespaces, "
          "kernel.unprivileged_userns_clone, AppArmor)";
      return fail(std::move(error));
    }
    BOOST_OUTCOME_TRY(write_file("/proc/self/setgroups", "deny"));
    BOOST_OUTCOME_TRY(write_file("/proc/self/uid_map", std::to_string(uid) + " " + std::to_string(uid) + " 1"));
    BOOST_OUTCOME_TRY(write_file("/proc/self/gid_map", std::to_string(gid) + " " + std::to_string(gid) + " 1"));
  }
  if (unshare(CLONE_NEWNS) < 0) return fail_errno("make a mount namespace");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0) return fail_errno("make the mounts private");
  return success();
}

Result<void> build_stage(const RootPlan& plan, const std::string& at) {
  umask(0);
  // 64 MiB hold the written files and sallyport-init many times over.
  if (mount("sallyport", at.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=64m") < 0)
    return fail_errno("root: mount a tmpfs on " + at);
  UniqueFd root(open(at.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return fail_errno("root: open " + at);
  Stage stage(std::move(root));
  for (const auto& entry : plan.entries) {
    BOOST_OUTCOME_TRY(stage.add(entry));
  }
  return stage.close();
}

}  // namespace sallyport::launcher
