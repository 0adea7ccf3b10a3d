#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/base/escape.h"
#include "core/base/random.h"
#include "core/base/unique_fd.h"
#include "sandbox-launcher/receipt/receipt.h"

namespace sallyport::launcher {
namespace {

Result<void> fill(int file, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("write the receipt");
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (fsync(file) < 0) return fail_errno("write the receipt to the disk");
  return success();
}

}  // namespace

Result<void> write_receipt(const std::string& path, std::string_view json) {
  std::size_t slash = path.rfind('/');
  std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name.empty() || name == "." || name == "..")
    return fail(ErrorKind::kInvalid, "--receipt " + escape_text(path) + ": not a file's name");
  UniqueFd directory(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail_errno("--receipt: open " + escape_text(parent));
  struct stat facts{};
  if (fstatat(directory.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(facts.st_mode))
    return fail(ErrorKind::kInvalid, "--receipt " + escape_text(path) + ": exists and is not a regular file");
  std::string temporary = ".receipt-" + random_hex(8);
  UniqueFd file(openat(directory.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return fail_errno("--receipt: create a file in " + escape_text(parent));
  auto filled = fill(file.get(), json);
  if (filled && renameat(directory.get(), temporary.c_str(), directory.get(), name.c_str()) < 0)
    filled = fail_errno("--receipt: rename into place");
  if (!filled) {
    unlinkat(directory.get(), temporary.c_str(), 0);
    return filled;
  }
  if (fsync(directory.get()) < 0) return fail_errno("--receipt: write the directory to the disk");
  return success();
}

}  // namespace sallyport::launcher
