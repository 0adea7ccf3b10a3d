#include "core/net/listener.h"

#include <sys/socket.h>

#include <cerrno>

#include "core/async/sleep.h"

namespace sallyport::net {

Listener::Listener(Executor executor, async::DeadlineWheel& wheel, UniqueFd socket)
    : descriptor_(executor, socket.release()), wheel_(wheel) {}

Listener::Attempt Listener::attempt(UniqueFd& out, int& code) noexcept {
  int fd = ::accept4(descriptor_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) {
    out.reset(fd);
    return Attempt::kAccepted;
  }
  code = errno;
  switch (code) {
    case EAGAIN:
      return Attempt::kWait;
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
      return Attempt::kTryAgain;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
      return Attempt::kPause;
    default:
      return Attempt::kLost;
  }
}

Awaitable<Result<UniqueFd>> Listener::accept() {
  for (;;) {
    UniqueFd accepted;
    int code = 0;
    switch (attempt(accepted, code)) {
      case Attempt::kAccepted:
        co_return std::move(accepted);
      case Attempt::kTryAgain:
        break;
      case Attempt::kPause: {
        auto pause = async::sleep_until(wheel_, Deadline::after(kPauseWhenExhausted));
        co_await std::move(pause);
        break;
      }
      case Attempt::kLost:
        co_return fail(Error{ErrorKind::kDisconnected, code, "the listener is gone"});
      case Attempt::kWait: {
        auto wait = descriptor_.async_wait(Descriptor::wait_read, kAwait);
        auto [error] = co_await std::move(wait);
        if (error) co_return fail(ErrorKind::kDisconnected, "the listener was closed");
        break;
      }
    }
  }
}

void Listener::abort() noexcept {
  boost::system::error_code ignored;
  descriptor_.close(ignored);
}

}  // namespace sallyport::net
