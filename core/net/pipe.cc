#include "core/net/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace sallyport::net {
namespace {

// Nothing else passes the proxy's seccomp filter.
constexpr unsigned kSpliceFlags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;

Transfer move(int from, int to, std::size_t most) noexcept {
  for (;;) {
    auto moved = ::splice(from, nullptr, to, nullptr, most, kSpliceFlags);
    if (auto transfer = Transfer::from_call(moved, errno)) return *transfer;
  }
}

}  // namespace

Result<Pipe> Pipe::open() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return fail_errno("pipe");
  UniqueFd out(ends[0]), in(ends[1]);
  Pipe pipe(std::move(in), std::move(out));
  if (int bytes = ::fcntl(pipe.in_.get(), F_GETPIPE_SZ); bytes > 0) pipe.slots_ = static_cast<std::size_t>(bytes) / kSlot;
  return pipe;
}

void Pipe::grow(std::size_t slots) noexcept {
  int bytes = ::fcntl(in_.get(), F_SETPIPE_SZ, static_cast<int>(slots * kSlot));
  if (bytes > 0) slots_ = static_cast<std::size_t>(bytes) / kSlot;
}

Transfer Pipe::fill(int socket, std::size_t most) noexcept {
  auto transfer = move(socket, in_.get(), most);
  held_ += transfer.count;
  return transfer;
}

Transfer Pipe::drain(int socket) noexcept {
  auto transfer = move(out_.get(), socket, held_);
  // The pipe holds something, so nothing moved is no end of a stream.
  if (transfer.ended()) return {Transfer::State::kFailed, 0};
  held_ -= transfer.count;
  return transfer;
}

}  // namespace sallyport::net
