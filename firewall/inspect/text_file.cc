#include "firewall/inspect/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/base/unique_fd.h"

namespace sallyport::firewall {

Result<std::string> read_text_file(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno(path);
  std::string text;
  std::array<char, 16384> buffer;
  for (;;) {
    ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(path);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxTextFile) return fail(ErrorKind::kOverloaded, path + " is too long");
  }
}

Result<void> write_text_file(const std::string& path, std::string_view text) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return fail_errno(path);
  ssize_t put = ::write(file.get(), text.data(), text.size());
  if (put == static_cast<ssize_t>(text.size())) return success();
  return put < 0 ? Result<void>(fail_errno(path)) : Result<void>(fail(ErrorKind::kInternal, path + ": short write"));
}

}  // namespace sallyport::firewall
