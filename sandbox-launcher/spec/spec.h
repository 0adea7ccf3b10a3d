// SandboxSpec: everything the operator asked of one sandbox, before any of it is checked or done.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/ip_address.h"
#include "core/base/result.h"
#include "core/base/units.h"

namespace sallyport::launcher {

// Which program makes the namespaces. Both give the same sandbox; what they cannot enforce is in RuntimeFacts::limits.
enum class RuntimeKind {
  kRunc,   // needs root; the default there
  kBwrap,  // works for everybody; the default for an ordinary user. As root it runs as the sandbox's own host uid.
};

std::string_view to_string(RuntimeKind kind) noexcept;
// "runc" or "bwrap"; kInvalid otherwise.
Result<RuntimeKind> parse_runtime(std::string_view text);
// runc for uid 0, bwrap for everybody else.
RuntimeKind default_runtime(uid_t effective_uid) noexcept;

// Where the sandbox's ids live on the host as root: container ids 0..65535 are host ids 1879113728 and up, which own
// nothing.
inline constexpr std::uint32_t kHostIdBase = 1879113728;
inline constexpr std::uint32_t kHostIdCount = 65536;
// The user and group the task runs as inside ("task"), and its host id as root.
inline constexpr std::uint32_t kTaskId = 1000;
inline constexpr std::uint32_t kTaskHostId = kHostIdBase + kTaskId;

enum class StdioKind {
  kPipes,     // three pipes
  kTerminal,  // a new pseudo-terminal of the sandbox's own devpts in a new session
};
// kTerminal when the caller's standard input and output are both terminals.
StdioKind stdio_kind_of_caller() noexcept;

// Plain values; the caller's (trusted) wishes. Sandbox::create checks them and refuses what is unsafe with a reason.
struct SandboxSpec {
  RuntimeKind runtime = RuntimeKind::kRunc;
  TaskId task = TaskId::random();
  std::string state_dir;                   // absolute, exists, owned by the caller, mode 0700; never visible inside
  std::optional<std::string> rootfs;       // --rootfs DIR: a tree to use instead of the host's /usr and /etc
  std::optional<std::string> workspace;    // --workspace DIR: at /workspace, read-write
  std::vector<std::string> read_only;      // --ro DIR: at the same path, read-only
  std::vector<std::string> environment;    // --env NAME or NAME=V, as typed
  std::vector<std::string> argv;           // the command; never empty
  std::string working_directory;           // inside; empty: /workspace when there is one, else /home/task
  std::optional<ByteCount> memory;         // of the whole tree where a cgroup can hold it, see RuntimeFacts::limits
  std::optional<std::uint32_t> processes;  // processes and threads together
  ByteCount tmp_size{1ull << 30};          // of each of /tmp, /home/task and /dev/shm
  IpAddress resolver = IpAddress::v4({127, 0, 0, 1});  // the one nameserver of /etc/resolv.conf
  Port proxy_port = Port::of(3128);                    // of the explicit proxy on 127.0.0.1, for the proxy variables
  StdioKind stdio = StdioKind::kPipes;
};

}  // namespace sallyport::launcher
