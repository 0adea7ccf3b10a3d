// The parser of /proc/PID/status.
#include <array>
#include <charconv>
#include <optional>
#include <span>

#include "core/sys/privileges.h"

namespace sallyport::sys {
namespace {

// The text after "Key:" on the line that begins with it, without the white space around.
std::optional<std::string_view> line_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':') continue;
    line.remove_prefix(key.size() + 1);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    return line;
  }
  return std::nullopt;
}

// Exactly `out.size()` numbers, separated by white space.
template <class T>
bool read_numbers(std::string_view text, int base, std::span<T> out) {
  for (T& value : out) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty() && text.front() != ' ' && text.front() != '\t') return false;
  }
  return text.empty();
}

class StatusReader {
 public:
  explicit StatusReader(std::string_view text) : text_(text) {}
  template <class T, std::size_t N>
  std::array<T, N> numbers(std::string_view key, int base = 10) {
    std::array<T, N> values{};
    auto line = line_of(text_, key);
    if (!line || !read_numbers<T>(*line, base, values)) fault(key);
    return values;
  }
  template <class T>
  T number(std::string_view key, int base = 10) {
    return numbers<T, 1>(key, base)[0];
  }
  bool has_words(std::string_view key) {
    auto line = line_of(text_, key);
    if (!line) fault(key);
    return line && !line->empty();
  }
  std::string_view faulty() const { return faulty_; }

 private:
  void fault(std::string_view key) {
    if (faulty_.empty()) faulty_ = key;
  }
  std::string_view text_;
  std::string_view faulty_;
};

}  // namespace

Result<ProcessCredentials> parse_process_status(std::string_view text) {
  StatusReader reader(text);
  ProcessCredentials found;
  found.pid = reader.number<pid_t>("Pid");
  found.parent = reader.number<pid_t>("PPid");
  auto uids = reader.numbers<uid_t, 4>("Uid");
  auto gids = reader.numbers<gid_t, 4>("Gid");
  found.real_uid = uids[0], found.effective_uid = uids[1], found.saved_uid = uids[2];
  found.real_gid = gids[0], found.effective_gid = gids[1], found.saved_gid = gids[2];
  found.supplementary_groups = reader.has_words("Groups");
  found.cap_inheritable = reader.number<std::uint64_t>("CapInh", 16);
  found.cap_permitted = reader.number<std::uint64_t>("CapPrm", 16);
  found.cap_effective = reader.number<std::uint64_t>("CapEff", 16);
  found.cap_bounding = reader.number<std::uint64_t>("CapBnd", 16);
  found.cap_ambient = reader.number<std::uint64_t>("CapAmb", 16);
  found.no_new_privs = reader.number<int>("NoNewPrivs") != 0;
  found.seccomp = reader.number<int>("Seccomp");
  found.threads = reader.number<int>("Threads");
  if (!reader.faulty().empty())
    return fail(ErrorKind::kInvalid, "/proc status: no proper line " + std::string(reader.faulty()));
  return found;
}

}  // namespace sallyport::sys
