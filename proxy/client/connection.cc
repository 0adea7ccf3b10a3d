#include "proxy/client/connection.h"

#include <sys/socket.h>

namespace sallyport::proxy {

ClientConnection::ClientConnection(Task& task, ClientForm form, std::unique_ptr<net::SocketStream> stream,
                                   std::optional<net::Endpoint> destination)
    : task_(task), form_(form), stream_(std::move(stream)), destination_(std::move(destination)), id_(task.next_connection()) {
  phase_.owner = life_.owner = this;
  ++task_.clients;
  task_.scope().enlist(*this);
}

ClientConnection::~ClientConnection() { --task_.clients; }

Awaitable<Result<std::size_t>> ClientConnection::read_more() {
  if (input_.full()) co_return fail(ErrorKind::kOverloaded, "the input buffer is full");
  auto reading = stream_->read_some(input_.room());
  auto got = co_await std::move(reading);
  if (got) input_.filled(got.value());
  co_return got;
}

void ClientConnection::expect_until(Deadline deadline, Expired meaning, Ends what) noexcept {
  phase_.meaning = meaning;
  phase_.ends = what;
  task_.services().wheel.arm(phase_, deadline);
}

void ClientConnection::end_at(Deadline deadline, Ends what) noexcept {
  if (expired_ == Expired::kDuration) expired_ = Expired::kNothing;  // the upstream that it ended is gone
  life_.meaning = Expired::kDuration;
  life_.ends = what;
  task_.services().wheel.arm(life_, deadline);
}

void ClientConnection::Timer::expired() noexcept {
  owner->expired_ = meaning;
  if (ends == Ends::kBoth) return owner->abort_both();
  if (ends == Ends::kInput) {
    if (owner->stream_ != nullptr) (void)::shutdown(owner->stream_->fd(), SHUT_RD);
    return;
  }
  if (owner->upstream_ != nullptr) owner->upstream_->abort(net::CloseReason::kReset);
}

void ClientConnection::abort(async::CancelReason) noexcept { abort_both(); }

void ClientConnection::abort_both() noexcept {
  if (stream_ != nullptr) stream_->abort(net::CloseReason::kReset);
  if (upstream_ != nullptr) upstream_->abort(net::CloseReason::kReset);
}

}  // namespace sallyport::proxy
