#include "sandbox-launcher/oci/cgroup.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <vector>

namespace sallyport::launcher {
namespace {

struct Hierarchy {
  std::string mount;
  bool v2 = false;
};

bool has_word(const std::string& list, std::string_view word, char separator) {
  std::istringstream words(list);
  for (std::string one; std::getline(words, one, separator);)
    if (one == word) return true;
  return false;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The mount of `controller`, from /proc/self/mountinfo: "… mount-point options [tags] - type source super-options".
std::optional<Hierarchy> find(std::string_view controller) {
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream left(line.substr(0, dash)), right(line.substr(dash + 3));
    std::string word, point, type, source, options;
    for (int i = 0; i < 5 && left >> word; ++i) point = word;
    right >> type >> source >> options;
    if (type == "cgroup" && has_word(options, controller, ',')) return Hierarchy{point, false};
    if (type == "cgroup2" && has_word(first_line(point + "/cgroup.controllers"), controller, ' '))
      return Hierarchy{point, true};
  }
  return std::nullopt;
}

// The process's path in that hierarchy, from /proc/PID/cgroup: "id:controllers:path", controllers empty for version 2.
std::string path_of(pid_t pid, const Hierarchy& hierarchy, std::string_view controller) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cgroup");
  for (std::string line; std::getline(file, line);) {
    std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    if (hierarchy.v2 ? controllers.empty() : has_word(controllers, controller, ',')) return line.substr(second + 1);
  }
  return "";
}

std::optional<std::uint64_t> value_in(int directory, const char* name, std::string_view key) {
  UniqueFd file(openat(directory, name, O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::array<char, 1024> text{};
  ssize_t size = read(file.get(), text.data(), text.size() - 1);
  if (size <= 0) return std::nullopt;
  std::istringstream lines(std::string(text.data(), static_cast<std::size_t>(size)));
  std::string word;
  std::uint64_t number = 0;
  while (lines >> word >> number)
    if (word == key) return number;
  return std::nullopt;
}

UniqueFd open_cgroup(pid_t pid, const Hierarchy& hierarchy, std::string_view controller) {
  std::string path = path_of(pid, hierarchy, controller);
  if (path.empty() || path == "/") return UniqueFd();
  return UniqueFd(open((hierarchy.mount + path).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

CgroupSupport cgroup_support() {
  CgroupSupport support;
  auto version = [](const std::optional<Hierarchy>& h) {
    return !h ? CgroupSupport::Version::kNone : h->v2 ? CgroupSupport::Version::kV2 : CgroupSupport::Version::kV1;
  };
  auto memory = find("memory");
  support.memory = version(memory);
  support.pids = version(find("pids"));
  if (memory)
    support.counts_swap = memory->v2 || access((memory->mount + "/memory.memsw.limit_in_bytes").c_str(), F_OK) == 0;
  return support;
}

CgroupReader CgroupReader::of(pid_t pid) {
  CgroupReader reader;
  if (auto memory = find("memory")) {
    reader.memory_ = open_cgroup(pid, *memory, "memory");
    reader.memory_is_v1_ = !memory->v2;
  }
  if (auto pids = find("pids")) reader.pids_ = open_cgroup(pid, *pids, "pids");
  return reader;
}

CgroupEvents CgroupReader::read() const {
  CgroupEvents events;
  if (memory_)
    events.oom_kills =
        value_in(memory_.get(), memory_is_v1_ ? "memory.oom_control" : "memory.events", "oom_kill").value_or(0);
  if (pids_) events.refused_forks = value_in(pids_.get(), "pids.events", "max").value_or(0);
  return events;
}

}  // namespace sallyport::launcher
