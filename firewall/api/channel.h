// Fixed-size messages with descriptors over a SOCK_SEQPACKET socket.
#pragma once

#include <array>
#include <span>
#include <type_traits>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace sallyport::firewall {

inline constexpr std::size_t kMaxDescriptors = 8;  // in one message

// Sends one frame; a blocked peer is waited for until `deadline`. Descriptors are duplicated to the peer, not given up.
Result<void> send_frame(int socket, std::span<const std::byte> frame, std::span<const int> descriptors,
                        Deadline deadline);

// Receives one frame of exactly `frame.size()` bytes and exactly `descriptors` descriptors (close-on-exec). kInvalid
// for any other frame (its descriptors are closed), kDisconnected at the end, kTimedOut.
Result<std::vector<UniqueFd>> receive_frame(int socket, std::span<std::byte> frame, std::size_t descriptors,
                                            Deadline deadline);

template <class Message>
  requires std::is_trivially_copyable_v<Message>
Result<void> send_message(int socket, const Message& message, std::span<const int> descriptors, Deadline deadline) {
  return send_frame(socket, std::as_bytes(std::span(&message, 1)), descriptors, deadline);
}

}  // namespace sallyport::firewall
