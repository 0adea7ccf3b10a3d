// Private directories: state that only we may read, reached by descriptor, removed without being led astray.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace sallyport::sys {

// A directory held by descriptor: what was checked is what is used, also when the path is renamed or replaced. Its
// owner is the effective user and nobody else has any right on it (mode & 077 == 0); its parent is not writable by
// others unless sticky. Names given to it are single components (kInvalid otherwise); symbolic links are never
// followed.
class PrivateDirectory {
 public:
  // Makes `path` with mode 0700; it must not exist, its parent must.
  static Result<PrivateDirectory> create(const std::string& path);
  // Makes `parent`/`prefix``random`.
  static Result<PrivateDirectory> create_unique(const std::string& parent, std::string_view prefix);
  // Opens `path`, or makes it. kDenied when it is somebody else's, open to others, or no directory.
  static Result<PrivateDirectory> open_or_create(const std::string& path);

  int fd() const noexcept { return fd_.get(); }
  const std::string& path() const noexcept { return path_; }

  Result<PrivateDirectory> subdirectory(std::string_view name) const;  // opened or made
  // Makes a regular file that must not exist, for reading and writing, close-on-exec.
  Result<UniqueFd> create_file(std::string_view name, mode_t mode = 0600) const;
  // Opens a regular file with O_RDONLY, O_WRONLY or O_RDWR and optionally O_APPEND.
  Result<UniqueFd> open_file(std::string_view name, int flags) const;
  Result<void> remove_file(std::string_view name) const;
  // Removes everything in it, and then it.
  Result<void> remove();

 private:
  PrivateDirectory(UniqueFd fd, UniqueFd parent, std::string path, std::string name) noexcept
      : fd_(std::move(fd)), parent_(std::move(parent)), path_(std::move(path)), name_(std::move(name)) {}
  static Result<PrivateDirectory> open_in(UniqueFd parent, std::string path, std::string name, bool make,
                                          bool must_be_new);
  UniqueFd fd_;
  UniqueFd parent_;
  std::string path_;
  std::string name_;
};

// Removes `name` below the directory `parent`, whatever it is, with everything in it. Never follows a symbolic link,
// never goes into another mount (kDenied, naming it; the rest is removed all the same). Contents may be hostile: depth
// is no limit, directories without permissions are opened up when they are ours. `name` is a single component. Succeeds
// when absent.
Result<void> remove_tree(int parent, std::string_view name);

}  // namespace sallyport::sys
