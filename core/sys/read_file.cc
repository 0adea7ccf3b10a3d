#include "core/sys/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/unique_fd.h"

namespace sallyport::sys {

Result<std::string> read_small_file(const std::string& path) {
  constexpr std::size_t kMax = 64 * 1024;
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return fail_errno(path);
  std::string text;
  char chunk[4096];
  for (;;) {
    ssize_t got = ::read(fd.get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    // A process that ends while its file is read.
    if (got < 0 && errno == ESRCH) return fail(ErrorKind::kUnavailable, path + ": the process has ended");
    if (got < 0) return fail_errno(path);
    if (got == 0) return text;
    text.append(chunk, static_cast<std::size_t>(got));
    if (text.size() > kMax) return fail(ErrorKind::kOverloaded, path + ": longer than 64 KiB");
  }
}

Result<void> write_small_file(const std::string& path, std::string_view text) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return fail_errno(path);
  ssize_t written = ::write(fd.get(), text.data(), text.size());
  if (written < 0) return fail_errno(path);
  if (static_cast<std::size_t>(written) != text.size()) return fail(ErrorKind::kInternal, path + ": written in part");
  return success();
}

}  // namespace sallyport::sys
