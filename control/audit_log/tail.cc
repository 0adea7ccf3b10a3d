#include "control/audit_log/tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace sallyport::audit_log {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr std::uint64_t kFarthest = 64u << 20;

Result<std::size_t> read_at(int fd, char* to, std::size_t bytes, std::uint64_t offset) {
  ssize_t n = ::pread(fd, to, bytes, static_cast<off_t>(offset));
  if (n < 0) return fail_errno("audit log: read");
  return static_cast<std::size_t>(n);
}

// Where the last `lines` finished lines of a file of `size` bytes begin.
Result<std::uint64_t> step_back(int fd, std::uint64_t size, std::size_t lines) {
  std::string chunk(kChunk, '\0');
  std::uint64_t limit = size > kFarthest ? size - kFarthest : 0;
  std::uint64_t at = size;
  std::size_t newlines = 0;
  while (at > limit) {
    std::uint64_t from = at - limit > kChunk ? at - kChunk : limit;
    BOOST_OUTCOME_TRY(auto n, read_at(fd, chunk.data(), static_cast<std::size_t>(at - from), from));
    for (std::size_t i = n; i-- > 0;) {
      if (chunk[i] == '\n' && newlines++ == lines) return from + i + 1;
    }
    at = from;
  }
  return limit;
}

}  // namespace

Result<Tail> Tail::open(const std::string& path, std::size_t last_lines) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return fail_errno("audit log: open");
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) return fail_errno("audit log: stat");
  if (!S_ISREG(st.st_mode)) return fail(ErrorKind::kInvalid, "audit log: not a regular file");
  BOOST_OUTCOME_TRY(auto offset, step_back(fd.get(), static_cast<std::uint64_t>(st.st_size), last_lines));
  return Tail(std::move(fd), offset);
}

// False when the file has no more now.
Result<bool> Tail::fill() {
  std::size_t size = buffer_.size();
  buffer_.resize(size + kChunk);
  auto n = read_at(fd_.get(), buffer_.data() + size, kChunk, offset_);
  buffer_.resize(size + (n.has_value() ? n.value() : 0));
  if (n.has_error()) return fail(std::move(n).error());
  offset_ += n.value();
  return n.value() > 0;
}

Result<std::optional<std::string>> Tail::next() {
  while (true) {
    std::size_t newline = buffer_.find('\n');
    if (newline == std::string::npos) {
      if (buffer_.size() > kMaxLineBytes) {
        skipping_ = true;
        buffer_.clear();
      }
      BOOST_OUTCOME_TRY(bool more, fill());
      if (!more) return std::optional<std::string>();
      continue;
    }
    std::string line = buffer_.substr(0, newline);
    buffer_.erase(0, newline + 1);
    if (!std::exchange(skipping_, false) && line.size() <= kMaxLineBytes) return std::optional<std::string>(std::move(line));
  }
}

}  // namespace sallyport::audit_log
