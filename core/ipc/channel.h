// Channel: messages and descriptors between our own processes, over one AF_UNIX SOCK_SEQPACKET socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace sallyport::ipc {

inline constexpr std::size_t kMaxFrameBytes = 64 * 1024;
inline constexpr std::size_t kMaxFrameDescriptors = 16;

// One received message. Its descriptors are close-on-exec and owned by it.
struct Frame {
  std::vector<std::uint8_t> bytes;
  std::vector<UniqueFd> descriptors;
};

// Owns one end. The socket's blocking mode does not matter. One thread at a time.
//
// The other side may be compromised: a frame that is too long, carries more descriptors than the caller expects, or
// carries other control data is refused (kDenied), its descriptors are closed and so is the channel; every later call
// answers kDisconnected. A frame has at least one byte: an empty one cannot be told from the end of the stream.
class Channel {
 public:
  Channel() noexcept = default;
  // Takes a connected SOCK_SEQPACKET Unix socket. kInvalid when it is something else.
  static Result<Channel> adopt(UniqueFd socket);
  // Both ends of a new one, close-on-exec.
  static Result<std::pair<Channel, Channel>> pair();

  // Sends one frame whole, waiting for room until `deadline`. kInvalid: empty, too long, too many descriptors;
  // kDisconnected: the other side is gone; kTimedOut. `descriptors` are borrowed and duplicated into the frame.
  Result<void> send(std::span<const std::uint8_t> bytes, std::span<const int> descriptors, Deadline deadline);
  // The same without waiting: kUnavailable when there is no room.
  Result<void> try_send(std::span<const std::uint8_t> bytes, std::span<const int> descriptors = {});

  // The next frame, with at most `max_descriptors` descriptors. kDisconnected when the other side has closed.
  Result<Frame> receive(Deadline deadline, std::size_t max_descriptors = 0);
  // The same without waiting: kUnavailable when there is none.
  Result<Frame> try_receive(std::size_t max_descriptors = 0);

  // For epoll; borrowed. -1 once closed.
  int fd() const noexcept { return socket_.get(); }
  bool is_open() const noexcept { return static_cast<bool>(socket_); }
  void close() noexcept { socket_.reset(); }
  // Gives the socket up, for instance to map it into a child.
  UniqueFd release() noexcept { return std::move(socket_); }

 private:
  explicit Channel(UniqueFd socket) noexcept : socket_(std::move(socket)) {}
  Result<void> wait(short events, Deadline deadline);

  UniqueFd socket_;
  std::vector<std::uint8_t> buffer_;  // kMaxFrameBytes, from the first receive on
};

}  // namespace sallyport::ipc
