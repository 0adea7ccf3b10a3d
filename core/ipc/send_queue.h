// SendQueue: frames that wait until a channel has room, for event loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/ipc/channel.h"

namespace sallyport::ipc {

// Keeps order and owns what waits. `channel` is borrowed and must outlive it. One thread.
class SendQueue {
 public:
  struct Limits {
    std::size_t frames = 256;
    std::size_t bytes = 1024 * 1024;
  };
  explicit SendQueue(Channel& channel) noexcept : SendQueue(channel, Limits{}) {}
  SendQueue(Channel& channel, Limits limits) noexcept : channel_(channel), limits_(limits) {}

  // Sends at once when nothing waits and there is room, else keeps it. kOverloaded past the limits (the frame is
  // dropped, its descriptors closed); otherwise as Channel::try_send.
  Result<void> push(std::span<const std::uint8_t> bytes, std::vector<UniqueFd> descriptors = {});
  // Sends what fits; call when the channel is writable. True when nothing waits any more.
  Result<bool> flush();
  // While not empty, watch the channel for writability.
  bool empty() const noexcept { return waiting_.empty(); }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  Result<void> send(const Frame& frame);

  Channel& channel_;
  Limits limits_;
  std::deque<Frame> waiting_;
  std::size_t bytes_ = 0;
};

}  // namespace sallyport::ipc
