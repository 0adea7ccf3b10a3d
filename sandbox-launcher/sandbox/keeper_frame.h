// Frames of the keeper's channel, both ways: one SOCK_SEQPACKET message each. Both ends are this program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace sallyport::launcher {

struct KeeperFrame {
  enum class Type : char {
    kFailed = 'F',  // before the runtime ran: `kind`, `code`, `text`
    kEnded = 'X',   // the runtime ended: `code` is its wait status
    kFinish = 'D',  // launcher to keeper
    kStep = 'S',    // of the clean-up: `text` is its name, `completed`
    kDone = 'Q',    // the last step was sent
  };
  static constexpr std::size_t kMaxText = 2000;

  Type type = Type::kDone;
  bool completed = false;
  std::int32_t code = 0;
  ErrorKind kind = ErrorKind::kInternal;
  std::string text;
  std::string error;
};

// False when the other side is gone.
bool send_frame(int channel, const KeeperFrame& frame);
// Waits for one. nullopt when the other side is gone.
std::optional<KeeperFrame> receive_frame(int channel);

}  // namespace sallyport::launcher
