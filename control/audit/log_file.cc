#include "control/audit/log_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace sallyport::audit_writer {
namespace {

bool means_no_space(int code) noexcept { return code == ENOSPC || code == EDQUOT || code == EFBIG; }

}  // namespace

Result<LogFile> LogFile::adopt(UniqueFd fd, ByteCount reserve) {
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) return fail_errno("audit log: stat");
  int flags = ::fcntl(fd.get(), F_GETFL);
  if (!S_ISREG(st.st_mode) || flags < 0 || (flags & O_ACCMODE) != O_RDWR || (flags & O_APPEND) == 0) {
    return fail(ErrorKind::kInvalid, "audit log: not a regular file opened for reading and appending");
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return fail_errno("audit log: another process writes it");
  return LogFile(std::move(fd), static_cast<std::uint64_t>(st.st_size), reserve.value);
}

Result<LogFile::Outcome> LogFile::reserve() {
  if (!can_reserve_ || (held_ > size_ && held_ - size_ >= reserve_ / 2)) return Outcome::kDone;
  if (::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(size_), static_cast<off_t>(reserve_)) == 0) {
    held_ = size_ + reserve_;
    return Outcome::kDone;
  }
  if (means_no_space(errno) || errno == EINTR) return Outcome::kNoSpace;
  if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) {
    can_reserve_ = false;
    return Outcome::kDone;
  }
  return fail_errno("audit log: fallocate");
}

Result<LogFile::Outcome> LogFile::append(std::string& pending) {
  std::size_t written = 0;
  int code = 0;
  while (written < pending.size() && code == 0) {
    ssize_t n = ::write(fd_.get(), pending.data() + written, pending.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      code = n == 0 ? ENOSPC : errno;
    } else {
      written += static_cast<std::size_t>(n);
    }
  }
  if (written != 0) {
    dirty_ = true;
    size_ += written;
    pending.erase(0, written);
  }
  if (code == 0) return Outcome::kDone;
  if (means_no_space(code)) return Outcome::kNoSpace;
  return fail(Error::from_errno("audit log: write", code));
}

Result<void> LogFile::sync() {
  if (!dirty_) return success();
  if (::fdatasync(fd_.get()) != 0) return fail_errno("audit log: fdatasync");
  dirty_ = false;
  return success();
}

void LogFile::release_reserve() noexcept {
  if (held_ <= size_) return;
  // Cutting at the size that the file has frees what is held beyond it. Failure leaves it held: harmless.
  [[maybe_unused]] int unused = ::ftruncate(fd_.get(), static_cast<off_t>(size_));
  held_ = 0;
}

}  // namespace sallyport::audit_writer
