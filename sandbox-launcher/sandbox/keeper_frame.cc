#include "sandbox-launcher/sandbox/keeper_frame.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace sallyport::launcher {
namespace {

struct Wire {
  char type;
  char completed;
  char padding[2];
  std::int32_t code;
  std::int32_t kind;
  std::uint16_t text_size;
  std::uint16_t error_size;
  char bytes[2 * KeeperFrame::kMaxText];
};

}  // namespace

bool send_frame(int channel, const KeeperFrame& frame) {
  Wire wire{};
  wire.type = static_cast<char>(frame.type);
  wire.completed = frame.completed ? 1 : 0;
  wire.code = frame.code;
  wire.kind = static_cast<std::int32_t>(frame.kind);
  std::string_view text = std::string_view(frame.text).substr(0, KeeperFrame::kMaxText);
  std::string_view error = std::string_view(frame.error).substr(0, KeeperFrame::kMaxText);
  wire.text_size = static_cast<std::uint16_t>(text.size());
  wire.error_size = static_cast<std::uint16_t>(error.size());
  text.copy(wire.bytes, text.size());
  error.copy(wire.bytes + text.size(), error.size());
  ssize_t sent = 0;
  do {
    sent = send(channel, &wire, sizeof wire, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof wire);
}

std::optional<KeeperFrame> receive_frame(int channel) {
  Wire wire{};
  ssize_t got = 0;
  do {
    got = recv(channel, &wire, sizeof wire, 0);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof wire)) return std::nullopt;
  if (wire.text_size > KeeperFrame::kMaxText || wire.error_size > KeeperFrame::kMaxText) return std::nullopt;
  KeeperFrame frame;
  frame.type = static_cast<KeeperFrame::Type>(wire.type);
  frame.completed = wire.completed != 0;
  frame.code = wire.code;
  frame.kind = static_cast<ErrorKind>(wire.kind);
  frame.text.assign(wire.bytes, wire.text_size);
  frame.error.assign(wire.bytes + wire.text_size, wire.error_size);
  return frame;
}

}  // namespace sallyport::launcher
