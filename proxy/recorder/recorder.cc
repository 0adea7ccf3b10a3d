#include "proxy/recorder/recorder.h"

#include <fcntl.h>

#include <boost/asio/post.hpp>

namespace sallyport::proxy {

// The ring owns its eventfd; the watch gets a duplicate of its own.
Recorder::Recorder(Executor executor, audit::AuditRing ring)
    : executor_(executor), ring_(std::move(ring)), ack_(executor, ::fcntl(ring_.ack_fd(), F_DUPFD_CLOEXEC, 3)) {}

Awaitable<void> Recorder::wait_for(audit::Sequence target) {
  auto initiate = [this, target](Handler handler) { waiters_.push_back({target, std::move(handler)}); };
  Token token;
  return boost::asio::async_initiate<Token, void()>(initiate, token);
}

Awaitable<Result<void>> Recorder::accepted(audit::Sequence sequence) {
  while (ring_.accepted() < sequence) {
    if (stopped_ || ring_.closed()) co_return fail(ErrorKind::kUnavailable, "the audit log does not take records");
    // Whoever waits behind another is looked at again when that one's signal comes.
    if (waiters_.empty() && !ring_.want_ack(sequence)) continue;
    auto wait = wait_for(sequence);
    co_await std::move(wait);
  }
  co_return success();
}

void Recorder::resume_served() {
  while (!waiters_.empty()) {
    if (ring_.closed()) return resume_all();
    auto served = ring_.accepted();
    while (!waiters_.empty() && waiters_.front().target <= served) {
      // Resumed here and now: the way through the loop's queue is long for what every request does.
      auto handler = std::move(waiters_.front().handler);
      waiters_.pop_front();
      handler();
    }
    // False: more has been accepted meanwhile, and no signal comes for it.
    if (!waiters_.empty() && ring_.want_ack(waiters_.front().target)) return;
  }
}

void Recorder::resume_all() {
  for (; !waiters_.empty(); waiters_.pop_front()) boost::asio::post(executor_, std::move(waiters_.front().handler));
}

Awaitable<void> Recorder::run() {
  using Descriptor = boost::asio::posix::basic_stream_descriptor<Executor>;
  while (!stopped_) {
    auto wait = ack_.async_wait(Descriptor::wait_read, kAwait);
    auto [error] = co_await std::move(wait);
    if (error) break;
    ring_.take_ack();
    resume_served();
  }
  resume_all();
}

void Recorder::stop() noexcept {
  stopped_ = true;
  boost::system::error_code ignored;
  ack_.close(ignored);
  resume_all();
}

}  // namespace sallyport::proxy
