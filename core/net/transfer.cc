#include "core/net/transfer.h"

#include <cerrno>

namespace sallyport::net {

std::optional<Transfer> Transfer::from_call(std::ptrdiff_t returned, int error) noexcept {
  if (returned > 0) return Transfer{State::kMoved, static_cast<std::size_t>(returned)};
  if (returned == 0) return Transfer{State::kEnded, 0};
  if (error == EINTR) return std::nullopt;
  if (error == EAGAIN || error == EWOULDBLOCK) return Transfer{State::kBlocked, 0};
  return Transfer{State::kFailed, 0};
}

}  // namespace sallyport::net
