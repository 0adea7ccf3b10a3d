#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

#include "core/base/escape.h"
#include "sandbox-launcher/workspace/directory.h"

namespace sallyport::launcher {
namespace {

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

class Search {
 public:
  Search(const PinnedDirectory& start, std::string_view option) : start_(start), option_(option) {}

  Result<void> run() {
    UniqueFd fd(openat(start_.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return fail_errno(std::string(option_) + " " + escape_text(start_.path) + ": look into the directory");
    return look(std::move(fd), "", 0);
  }

 private:
  Result<void> look(UniqueFd fd, const std::string& path, unsigned depth) {
    if (depth > kMaxDepth)
      return fail(ErrorKind::kOverloaded, where(path) + "is nested too deeply to be searched for sockets");
    Directory directory(fdopendir(fd.get()), closedir);
    if (!directory) return fail_errno(where(path) + "fdopendir");
    int here = fd.release();
    for (;;) {
      errno = 0;
      const dirent* entry = readdir(directory.get());
      if (entry == nullptr) break;
      std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (++seen_ > kMaxEntries)
        return fail(ErrorKind::kOverloaded, where("") + "has too many entries to be searched for sockets");
      BOOST_OUTCOME_TRY(auto kind, kind_of(here, *entry));
      if (kind == DT_SOCK)
        return fail(ErrorKind::kDenied, where(path + "/" + entry->d_name) +
                                            "is a socket: a task that can reach it can leave by it. Move it elsewhere");
      if (kind == DT_DIR) {
        BOOST_OUTCOME_TRY(descend(here, entry->d_name, path, depth));
      }
    }
    if (errno != 0) return fail_errno(where(path) + "readdir");
    return success();
  }

  Result<unsigned char> kind_of(int directory, const dirent& entry) {
    if (entry.d_type != DT_UNKNOWN) return entry.d_type;
    struct stat facts{};
    if (fstatat(directory, entry.d_name, &facts, AT_SYMLINK_NOFOLLOW) < 0) {
      if (errno == ENOENT) return static_cast<unsigned char>(DT_UNKNOWN);
      return fail_errno("fstatat");
    }
    return static_cast<unsigned char>(IFTODT(facts.st_mode));
  }

  Result<void> descend(int directory, const char* name, const std::string& path, unsigned depth) {
    UniqueFd below(openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!below) {
      // As an ordinary user: what the caller cannot look into, the task, which has the caller's rights, cannot either.
      if (errno == ENOENT || errno == ENOTDIR || (errno == EACCES && geteuid() != 0)) return success();
      return fail_errno(where(path + "/" + name) + "look into the directory");
    }
    struct stat facts{};
    if (fstat(below.get(), &facts) < 0) return fail_errno("fstat");
    if (facts.st_dev != start_.device) return success();  // another file system: it is not mounted into the sandbox
    return look(std::move(below), path + "/" + name, depth + 1);
  }

  std::string where(const std::string& path) const {
    return std::string(option_) + " " + escape_text(start_.path + path) + " ";
  }

  const PinnedDirectory& start_;
  std::string_view option_;
  std::size_t seen_ = 0;
};

}  // namespace

Result<void> refuse_sockets(const PinnedDirectory& directory, std::string_view option) {
  return Search(directory, option).run();
}

}  // namespace sallyport::launcher
