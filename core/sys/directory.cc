#include "core/sys/directory.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/escape.h"
#include "core/base/random.h"
#include "core/sys/path_component.h"

namespace sallyport::sys {
namespace {

struct SplitPath {
  std::string parent;
  std::string name;
};

Result<SplitPath> split(std::string path) {
  if (path.empty() || path.find('\0') != std::string::npos) return fail(ErrorKind::kInvalid, "directory: not a path");
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  std::size_t slash = path.rfind('/');
  SplitPath parts;
  parts.parent = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  parts.name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (!is_component(parts.name)) return fail(ErrorKind::kInvalid, "directory: no name in " + escape_text(path));
  return parts;
}

// Nobody else may put another directory in the place of ours.
Result<UniqueFd> open_parent(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno(escape_text(path));
  struct stat status = {};
  if (fstat(fd.get(), &status) != 0) return fail_errno(escape_text(path));
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0)
    return fail(ErrorKind::kDenied, escape_text(path) + ": others may write to it and it is not sticky");
  if (status.st_uid != geteuid() && status.st_uid != 0)
    return fail(ErrorKind::kDenied, escape_text(path) + ": belongs to another user");
  return fd;
}

Result<void> check_private(int fd, const std::string& path) {
  struct stat status = {};
  if (fstat(fd, &status) != 0) return fail_errno(escape_text(path));
  if (!S_ISDIR(status.st_mode)) return fail(ErrorKind::kDenied, escape_text(path) + ": not a directory");
  if (status.st_uid != geteuid()) return fail(ErrorKind::kDenied, escape_text(path) + ": belongs to another user");
  if ((status.st_mode & 077) != 0)
    return fail(ErrorKind::kDenied, escape_text(path) + ": open to others, wants mode 0700");
  return success();
}

Result<UniqueFd> open_beneath(int directory, const std::string& name, std::uint64_t flags, std::uint64_t mode) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  UniqueFd fd(static_cast<int>(syscall(SYS_openat2, directory, name.c_str(), &how, sizeof how)));
  if (!fd) return fail_errno(escape_text(name));
  return fd;
}

Result<std::string> component(std::string_view name) {
  if (!is_component(name)) return fail(ErrorKind::kInvalid, "not a file name: " + escape_text(name));
  return std::string(name);
}

}  // namespace

Result<PrivateDirectory> PrivateDirectory::open_in(UniqueFd parent, std::string path, std::string name, bool make,
                                                   bool must_be_new) {
  if (make && mkdirat(parent.get(), name.c_str(), 0700) != 0 && (must_be_new || errno != EEXIST))
    return fail_errno("making " + escape_text(path));
  UniqueFd fd(openat(parent.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail_errno(escape_text(path));
  BOOST_OUTCOME_TRY(check_private(fd.get(), path));
  return PrivateDirectory(std::move(fd), std::move(parent), std::move(path), std::move(name));
}

Result<PrivateDirectory> PrivateDirectory::create(const std::string& path) {
  BOOST_OUTCOME_TRY(auto parts, split(path));
  BOOST_OUTCOME_TRY(auto parent, open_parent(parts.parent));
  return open_in(std::move(parent), path, std::move(parts.name), true, true);
}

Result<PrivateDirectory> PrivateDirectory::create_unique(const std::string& parent, std::string_view prefix) {
  return create(parent + "/" + std::string(prefix) + random_hex(8));
}

Result<PrivateDirectory> PrivateDirectory::open_or_create(const std::string& path) {
  BOOST_OUTCOME_TRY(auto parts, split(path));
  BOOST_OUTCOME_TRY(auto parent, open_parent(parts.parent));
  return open_in(std::move(parent), path, std::move(parts.name), true, false);
}

Result<PrivateDirectory> PrivateDirectory::subdirectory(std::string_view name) const {
  BOOST_OUTCOME_TRY(auto checked, component(name));
  UniqueFd parent(fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (!parent) return fail_errno("dup of a directory");
  std::string path = path_ + "/" + checked;
  return open_in(std::move(parent), std::move(path), std::move(checked), true, false);
}

Result<UniqueFd> PrivateDirectory::create_file(std::string_view name, mode_t mode) const {
  BOOST_OUTCOME_TRY(auto checked, component(name));
  return open_beneath(fd_.get(), checked, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode & 0777);
}

Result<UniqueFd> PrivateDirectory::open_file(std::string_view name, int flags) const {
  BOOST_OUTCOME_TRY(auto checked, component(name));
  auto wanted = static_cast<std::uint64_t>(flags & (O_ACCMODE | O_APPEND));
  BOOST_OUTCOME_TRY(auto fd, open_beneath(fd_.get(), checked, wanted | O_NOFOLLOW | O_NONBLOCK, 0));
  struct stat status = {};
  if (fstat(fd.get(), &status) != 0) return fail_errno(escape_text(name));
  if (!S_ISREG(status.st_mode)) return fail(ErrorKind::kDenied, escape_text(name) + ": not a regular file");
  return fd;
}

Result<void> PrivateDirectory::remove_file(std::string_view name) const {
  BOOST_OUTCOME_TRY(auto checked, component(name));
  if (unlinkat(fd_.get(), checked.c_str(), 0) != 0) return fail_errno("removing " + escape_text(name));
  return success();
}

Result<void> PrivateDirectory::remove() { return remove_tree(parent_.get(), name_); }

}  // namespace sallyport::sys
