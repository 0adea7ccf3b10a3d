#include "control/policy_commands/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "core/base/unique_fd.h"

namespace sallyport::control {
namespace {

Result<void> write_through(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    auto wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return fail_errno(path);
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (::fsync(fd) != 0) return fail_errno(path);
  return success();
}

Result<void> write_beside(const std::string& beside, const std::string& target, const struct stat& about,
                          std::string_view text) {
  UniqueFd file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return fail_errno(beside);
  auto written = write_through(file.get(), text, beside);
  // An ordinary user cannot give files away; the mode then is what counts.
  if (written && ::fchown(file.get(), about.st_uid, about.st_gid) != 0 && errno != EPERM) written = fail_errno(beside);
  if (written && ::fchmod(file.get(), about.st_mode & 07777) != 0) written = fail_errno(beside);
  if (written && ::rename(beside.c_str(), target.c_str()) != 0) written = fail_errno(target);
  if (!written) ::unlink(beside.c_str());
  return written;
}

}  // namespace

Result<void> replace_file(const std::string& path, std::string_view text) {
  std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (!real) return fail_errno(path);
  std::string target = real.get();
  struct stat about{};
  if (::stat(target.c_str(), &about) != 0) return fail_errno(path);
  if (!S_ISREG(about.st_mode)) return fail(ErrorKind::kInvalid, path + " is no regular file");
  return write_beside(target + ".new-" + std::to_string(::getpid()), target, about, text);
}

Result<void> create_file(const std::string& path, std::string_view text) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file && errno == EEXIST) return fail(ErrorKind::kInvalid, path + " is there already, and is left as it is");
  if (!file) return fail_errno(path);
  auto written = write_through(file.get(), text, path);
  if (!written) ::unlink(path.c_str());
  return written;
}

}  // namespace sallyport::control
