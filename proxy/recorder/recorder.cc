#include "proxy/recorder/recorder.h"

#include <fcntl.h>

namespace sallyport::proxy {

// The ring owns its eventfd; the watch gets a duplicate of its own.
Recorder::Recorder(Executor executor, audit::AuditRing ring)
    : ring_(std::move(ring)), ack_(executor, ::fcntl(ring_.ack_fd(), F_DUPFD_CLOEXEC, 3)), acknowledged_(executor) {}

Awaitable<Result<void>> Recorder::accepted(audit::Sequence sequence) {
  while (ring_.accepted() < sequence) {
    if (stopped_ || ring_.closed()) co_return fail(ErrorKind::kUnavailable, "the audit log does not take records");
    if (ring_.want_ack(sequence)) {
      // Someone may wait for less: the lowest target stays armed, everybody looks again after a signal.
      auto wait = acknowledged_.wait();
      co_await std::move(wait);
    }
  }
  co_return success();
}

Awaitable<void> Recorder::run() {
  using Descriptor = boost::asio::posix::basic_stream_descriptor<Executor>;
  while (!stopped_) {
    auto wait = ack_.async_wait(Descriptor::wait_read, kAwait);
    auto [error] = co_await std::move(wait);
    if (error) break;
    ring_.take_ack();
    acknowledged_.notify_all();
  }
  acknowledged_.notify_all();
}

void Recorder::stop() noexcept {
  stopped_ = true;
  boost::system::error_code ignored;
  ack_.close(ignored);
  acknowledged_.notify_all();
}

}  // namespace sallyport::proxy
