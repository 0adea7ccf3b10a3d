// Listener: accepts connections on a listening socket made elsewhere (inside a task's namespace).
//
// Never spins: descriptor exhaustion pauses accepting, and a listener that the kernel has killed (EINVAL, EPOLLHUP: `ss -K`
// inside the sandbox) ends with an error, after which the owner closes it.
#pragma once

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "core/async/awaitable.h"
#include "core/async/deadline_wheel.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace sallyport::net {

class Listener {
 public:
  // Takes a non-blocking listening socket. `wheel` must outlive the Listener.
  Listener(Executor executor, async::DeadlineWheel& wheel, UniqueFd socket);

  // The next connection, non-blocking and close-on-exec. kDisconnected once aborted or killed.
  Awaitable<Result<UniqueFd>> accept();
  void abort() noexcept;

 private:
  enum class Attempt { kAccepted, kTryAgain, kWait, kPause, kLost };
  Attempt attempt(UniqueFd& out, int& code) noexcept;

  static constexpr auto kPauseWhenExhausted = std::chrono::milliseconds(50);
  using Descriptor = boost::asio::posix::basic_stream_descriptor<Executor>;

  Descriptor descriptor_;
  async::DeadlineWheel& wheel_;
};

}  // namespace sallyport::net
