#include "core/async/event.h"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <cassert>
#include <memory>
#include <utility>

namespace sallyport::async {
namespace {

template <class Handler>
class HandlerWaiter final : public Event::Waiter {
 public:
  explicit HandlerWaiter(Handler handler) : handler_(std::move(handler)) {}
  void resume(Executor executor) override { boost::asio::post(executor, std::move(handler_)); }

 private:
  Handler handler_;
};

}  // namespace

Event::~Event() { assert(waiters_.empty()); }

Awaitable<void> Event::wait() {
  auto token = boost::asio::use_awaitable_t<Executor>{};
  auto initiate = [this](auto handler) {
    waiters_.push_back(std::make_unique<HandlerWaiter<decltype(handler)>>(std::move(handler)));
  };
  return boost::asio::async_initiate<boost::asio::use_awaitable_t<Executor>, void()>(initiate, token);
}

void Event::pop_and_resume() {
  auto waiter = std::move(waiters_.front());
  waiters_.erase(waiters_.begin());
  waiter->resume(executor_);
}

void Event::notify_one() noexcept {
  if (!waiters_.empty()) pop_and_resume();
}

void Event::notify_all() noexcept {
  for (auto& waiter : std::exchange(waiters_, {})) waiter->resume(executor_);
}

}  // namespace sallyport::async
