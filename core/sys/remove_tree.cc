// remove_tree: deletion by descriptor of a tree that an untrusted program filled.
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "core/base/escape.h"
#include "core/base/random.h"
#include "core/sys/directory.h"
#include "core/sys/path_component.h"

namespace sallyport::sys {
namespace {

// Directories below this depth are first moved up to the top, so depth costs neither stack nor descriptors.
constexpr int kMaxDepth = 16;

struct CloseDir {
  void operator()(DIR* dir) const noexcept { closedir(dir); }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

// Opens exactly this directory: no symbolic link, no other mount (a bind mount has the same device).
int open_directory(int parent, const char* name, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, parent, name, &how, sizeof how));
}

// A directory of ours whose permissions shut us out.
void open_up(int parent, const char* name) {
  UniqueFd fd(open_directory(parent, name, O_PATH));
  if (fd) chmod(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), 0700);
}

class TreeRemover {
 public:
  explicit TreeRemover(int top) noexcept : top_(top) {}

  // Removes the contents of `parent`/`name` and then it. Goes on after a failure and reports the first.
  void remove_directory(int parent, const char* name, int depth) {
    UniqueFd fd(open_directory(parent, name, O_RDONLY));
    if (!fd && errno == EACCES) {
      open_up(parent, name);
      fd.reset(open_directory(parent, name, O_RDONLY));
    }
    if (!fd) return note(name);
    empty(std::move(fd), depth);
    if (unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT) note(name);
  }

  void remove_entry(int parent, const char* name, int depth) {
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return;
    if (errno == EISDIR || errno == EPERM) return descend(parent, name, depth);
    note(name);
  }

  Result<void> outcome() && {
    if (failed_) return fail(std::move(error_));
    return success();
  }
  bool moved_any() noexcept { return std::exchange(moved_, false); }

 private:
  void descend(int parent, const char* name, int depth) {
    if (depth < kMaxDepth) return remove_directory(parent, name, depth + 1);
    std::string flat = ".removing-" + random_hex(16);
    if (renameat(parent, name, top_, flat.c_str()) != 0 && errno == EACCES) {
      open_up(parent, name);  // moving a directory writes its ".."
      if (renameat(parent, name, top_, flat.c_str()) != 0) return note(name);
    }
    moved_ = true;
  }

  void empty(UniqueFd fd, int depth) {
    int directory = fd.get();
    struct stat status = {};
    if (fstat(directory, &status) == 0 && (status.st_mode & 0700) != 0700) fchmod(directory, 0700);
    Dir stream(fdopendir(directory));
    if (!stream) return note("a directory");
    [[maybe_unused]] int owned_by_stream = fd.release();
    while (const dirent* entry = readdir(stream.get())) {
      std::string_view name = entry->d_name;
      if (name != "." && name != "..") remove_entry(directory, entry->d_name, depth);
    }
  }

  void note(const char* name) {
    if (failed_) return;
    failed_ = true;
    bool mounted = errno == EXDEV || errno == EBUSY;
    error_ = Error::from_errno("removing " + escape_text(name) + (mounted ? " (something is mounted there)" : ""));
    if (mounted) error_.kind = ErrorKind::kDenied;
  }

  int top_;
  bool moved_ = false;
  bool failed_ = false;
  Error error_;
};

}  // namespace

Result<void> remove_tree(int parent, std::string_view name) {
  if (!is_component(name)) return fail(ErrorKind::kInvalid, "remove_tree: not a file name: " + escape_text(name));
  std::string text(name);
  struct stat status = {};
  if (fstatat(parent, text.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return success();
    return fail_errno("removing " + escape_text(name));
  }
  if (!S_ISDIR(status.st_mode)) {
    if (unlinkat(parent, text.c_str(), 0) != 0 && errno != ENOENT) return fail_errno("removing " + escape_text(name));
    return success();
  }
  UniqueFd top(open_directory(parent, text.c_str(), O_PATH));
  if (!top) {
    Error error = Error::from_errno("removing " + escape_text(name));
    if (error.code == EXDEV) error.kind = ErrorKind::kDenied;
    return fail(std::move(error));
  }
  // Each pass takes kMaxDepth levels off whatever was moved up in the one before.
  for (;;) {
    TreeRemover remover(top.get());
    remover.remove_directory(parent, text.c_str(), 0);
    if (remover.moved_any()) continue;
    return std::move(remover).outcome();
  }
}

}  // namespace sallyport::sys
