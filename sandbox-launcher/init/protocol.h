// What pid 1 of a sandbox and the launcher say to each other: fixed-size messages on a SOCK_SEQPACKET pair, descriptor
// 3 inside.
//
//   init     → Hello        all namespaces, mounts and the system-call filter are in place; the kernel attaches its
//   credentials
//                           (pid, uid), and a terminal's master side is passed as a descriptor
//   launcher → kStart       run the command
//   launcher → kSignal      send `value` to the command's process group
//   init     → kEnded       how the command ended; init then exits and the kernel removes the rest of the tree
//
// The end of the socket ends init, and with it the sandbox. After kStart what comes from inside is untrusted: the task
// has init's uid.
#pragma once

#include <cstdint>

namespace sallyport::launcher {

inline constexpr int kInitChannel = 3;

enum class InitMessageType : std::uint32_t {
  kHello = 1,
  kStart = 2,
  kSignal = 3,
  kExited = 4,
  kKilledBySignal = 5,
  kFailed = 6
};

struct InitMessage {
  static constexpr std::uint32_t kMagic = 0x53505231;  // "SPR1"
  std::uint32_t magic = kMagic;
  InitMessageType type = InitMessageType::kHello;
  std::int32_t value = 0;  // exit code, signal number, or errno of kFailed (before kStart)
  std::uint32_t reserved = 0;
};
static_assert(sizeof(InitMessage) == 16);

}  // namespace sallyport::launcher
