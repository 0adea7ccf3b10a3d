// What a sandbox reports about its runtime, its end and its clean-up: for the exit status and the receipt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sallyport::launcher {

// How the command ended.
struct ExitStatus {
  enum class How {
    kExited,  // by itself: `code`
    kSignal,  // by a signal: `code` is the signal's number
    kLost,    // the whole sandbox was killed, by kill_tree or from outside, before the command reported its end
  };
  How how = How::kLost;
  int code = 0;
  bool oom_killed = false;  // the kernel killed a process of the sandbox for the memory limit
  std::uint64_t oom_kills = 0;
  std::uint64_t process_limit_hits = 0;  // forks refused by the processes limit (cgroup only)

  // As a shell reports it: the code, 128 + signal, or 137 when lost.
  int shell_code() const noexcept { return how == How::kExited ? code : how == How::kSignal ? 128 + code : 137; }
};

// One limit and who holds it, e.g. {"memory", "536870912", "cgroup of the whole tree"}.
struct LimitFact {
  std::string name;
  std::string value;
  std::string enforced_by;
};

// What ran the task, for the receipt and for `--json`.
struct RuntimeFacts {
  std::string runtime;         // "runc" or "bwrap"
  std::string version;         // as the program reports it, one line
  bool as_root = false;        // the launcher's own privilege
  std::uint32_t host_uid = 0;  // whom the task's processes are on the host
  std::vector<LimitFact> limits;
  std::vector<std::string> environment_names;  // of the task, sorted
  std::string working_directory;
};

// One step of the clean-up and whether it completed.
struct CleanupStep {
  std::string name;
  bool completed = false;
  std::string error;  // one escaped line; empty when completed
};
struct CleanupReport {
  std::vector<CleanupStep> steps;
  bool complete() const noexcept {
    for (const auto& s : steps)
      if (!s.completed) return false;
    return true;
  }
};

}  // namespace sallyport::launcher
