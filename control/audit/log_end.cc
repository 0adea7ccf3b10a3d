#include "control/audit/log_end.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "control/audit_log/line.h"

namespace sallyport::audit_writer {
namespace {

using audit_log::Anchor;
using audit_log::Line;

struct Window {
  std::uint64_t offset = 0;  // of its first byte in the file
  std::string bytes;
};

Result<Window> read_window(int fd) {
  struct stat st{};
  if (::fstat(fd, &st) != 0) return fail_errno("audit log: stat");
  auto size = static_cast<std::uint64_t>(st.st_size);
  Window window;
  window.offset = size > LogEnd::kWindow ? size - LogEnd::kWindow : 0;
  window.bytes.resize(static_cast<std::size_t>(size - window.offset));
  std::size_t got = 0;
  while (got < window.bytes.size()) {
    ssize_t n = ::pread(fd, window.bytes.data() + got, window.bytes.size() - got, static_cast<off_t>(window.offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("audit log: read");
    if (n == 0) return fail(ErrorKind::kUnavailable, "audit log: it shrank while it was read");
    got += static_cast<std::size_t>(n);
  }
  return window;
}

std::optional<std::uint64_t> ring_of(const Line& line) {
  auto text = line.text("ring");
  std::uint64_t ring = 0;
  if (!text || text->size() != 16) return std::nullopt;
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), ring, 16);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return ring;
}

void trace(const Line& line, LogEnd& end) {
  auto ring = ring_of(line);
  if (!ring) return;
  RingTrace& found = end.rings[*ring];
  if (auto position = line.number("pos")) found.positions.push_back(*position);
  if (auto folded = line.number("folded")) found.reported = std::max(found.reported, *folded);
}

// Goes through the window's lines and stops believing at the last that follows from the one before it.
class Walk {
 public:
  Walk(const Window& window, LogEnd& end) : window_(window), end_(end) {}

  // Where the bytes after the last good line begin, in the window; nullopt: there is no good line.
  std::optional<std::size_t> run() {
    std::string_view bytes = window_.bytes;
    std::optional<std::size_t> after;
    if (window_.offset == 0) before_ = Anchor{};
    for (std::size_t at = 0; at < bytes.size();) {
      std::size_t newline = bytes.find('\n', at);
      if (newline == std::string_view::npos) break;
      auto line = audit_log::parse_line(bytes.substr(at, newline - at));
      at = newline + 1;
      if (line.has_error()) continue;  // torn, or the window begins inside it: a later line may follow from the one before
      if (stands(line.value())) {
        after = at;
        trace(line.value(), end_);
      }
    }
    return after;
  }

 private:
  bool follows(const Anchor& before, const Line& line) {
    return line.sequence == before.sequence + 1 && hasher_.link(before.hash, line.body) == line.hash;
  }

  // A line follows from the one just before it or, closing off a torn end, from the last that stood.
  bool stands(const Line& line) {
    bool good = (before_ && follows(*before_, line)) || (end_.last.sequence != 0 && follows(end_.last, line));
    before_ = Anchor{line.sequence, line.hash};
    if (good) end_.last = *before_;
    return good;
  }

  const Window& window_;
  LogEnd& end_;
  std::optional<Anchor> before_;
  audit_log::Hasher hasher_;
};

// A first line that never became whole.
bool is_torn_beginning(const Window& window) {
  std::string_view start = "{\"seq\":1,\"time\":\"";
  std::string_view bytes = window.bytes;
  return window.offset == 0 && bytes.find('\n') == std::string_view::npos && bytes.size() <= audit_log::kMaxLineBytes &&
         bytes.substr(0, start.size()) == start.substr(0, bytes.size());
}

}  // namespace

Result<LogEnd> read_log_end(int fd) {
  BOOST_OUTCOME_TRY(auto window, read_window(fd));
  LogEnd end;
  if (window.bytes.empty()) return end;
  auto after = Walk(window, end).run();
  if (!after && !is_torn_beginning(window)) {
    return fail(ErrorKind::kInvalid,
                "audit log: the file does not end as a log of ours does; move it away, it is not appended to");
  }
  std::string_view torn = std::string_view(window.bytes).substr(after.value_or(0));
  if (!torn.empty()) {
    audit_log::Hasher hasher;
    hasher.add(torn);
    end.torn_needs_newline = torn.back() != '\n';
    if (end.torn_needs_newline) hasher.add("\n");
    end.torn_bytes = torn.size() + (end.torn_needs_newline ? 1 : 0);
    end.torn_hash = hasher.finish();
  }
  for (auto& [ring, found] : end.rings) std::ranges::sort(found.positions);
  return end;
}

}  // namespace sallyport::audit_writer
