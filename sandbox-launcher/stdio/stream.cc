#include "sandbox-launcher/stdio/stream.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace sallyport::launcher {

SharedStream SharedStream::reader(int fd) { return SharedStream(fd, O_RDONLY); }
SharedStream SharedStream::writer(int fd) { return SharedStream(fd, O_WRONLY); }

SharedStream::SharedStream(int fd, int access) {
  struct stat facts{};
  if (fd < 0 || fstat(fd, &facts) < 0) return;
  fd_ = fd;
  terminal_ = S_ISCHR(facts.st_mode) && isatty(fd) == 1;
  if (S_ISSOCK(facts.st_mode)) kind_ = Kind::kSocket;
  if (S_ISREG(facts.st_mode)) kind_ = Kind::kUnbounded;
  if (S_ISFIFO(facts.st_mode) || terminal_) {
    own_ = UniqueFd(open(("/proc/self/fd/" + std::to_string(fd)).c_str(), access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (own_) kind_ = Kind::kUnbounded;
  }
}

ssize_t SharedStream::read(char* to, std::size_t size) const noexcept {
  if (kind_ == Kind::kSocket) return recv(fd_, to, size, MSG_DONTWAIT);
  return ::read(poll_fd(), to, size);
}

ssize_t SharedStream::write(std::string_view bytes) const noexcept {
  if (kind_ == Kind::kSocket) return send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  // A pipe that poll calls writable takes PIPE_BUF bytes at once.
  std::size_t size = kind_ == Kind::kUnbounded ? bytes.size() : std::min<std::size_t>(bytes.size(), PIPE_BUF);
  return ::write(poll_fd(), bytes.data(), size);
}

bool SharedStream::may_read() const noexcept {
  if (!terminal_) return true;
  pid_t foreground = tcgetpgrp(fd_);
  return foreground < 0 || foreground == getpgrp();  // not the controlling terminal: no job control applies
}

}  // namespace sallyport::launcher
