#include "core/sys/executable.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sallyport::sys {

Result<std::string> executable_directory() {
  char path[PATH_MAX];
  ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  if (size < 0) return fail_errno("/proc/self/exe");
  if (static_cast<std::size_t>(size) >= sizeof path)
    return fail(ErrorKind::kOverloaded, "/proc/self/exe: path too long");
  std::string text(path, static_cast<std::size_t>(size));
  // "… (deleted)", or another file under the name by now: helpers beside it would not be of our build.
  struct stat linked = {}, named = {};
  if (stat("/proc/self/exe", &linked) != 0 || stat(text.c_str(), &named) != 0 || linked.st_ino != named.st_ino ||
      linked.st_dev != named.st_dev)
    return fail(ErrorKind::kUnavailable, "the running program's file has been removed or replaced");
  text.resize(text.rfind('/'));
  return text.empty() ? std::string("/") : text;
}

}  // namespace sallyport::sys
