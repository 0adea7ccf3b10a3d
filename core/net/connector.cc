#include "core/net/connector.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "core/net/endpoint.h"

namespace sallyport::net {
namespace {

Result<UniqueFd> open_and_start(const SocketAddress& to) {
  UniqueFd socket(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!socket) return fail_errno("open a socket");
  int on = 1;
  if (setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) return fail_errno("set TCP_NODELAY");
  if (::connect(socket.get(), to.get(), to.length) != 0 && errno != EINPROGRESS) return fail_errno("connect");
  return socket;
}

// Writable, and nothing else: an attempt that failed shows an error or an end beside it.
bool is_connected(int socket) noexcept {
  pollfd one{socket, POLLOUT, 0};
  return ::poll(&one, 1, 0) == 1 && one.revents == POLLOUT;
}

Result<void> connect_error(SocketStream& stream) {
  int code = 0;
  socklen_t length = sizeof code;
  if (getsockopt(stream.fd(), SOL_SOCKET, SO_ERROR, &code, &length) != 0) code = errno;
  if (code != 0) return fail(Error::from_errno("connect", code));
  return success();
}

// The end of the task ends a connection attempt: no further SYN leaves for it.
class AbortWithScope final : public async::Abortable {
 public:
  explicit AbortWithScope(SocketStream& stream) : stream_(stream) {}
  void abort(async::CancelReason) noexcept override { stream_.abort(CloseReason::kReset); }

 private:
  SocketStream& stream_;
};

}  // namespace

Awaitable<Result<std::unique_ptr<SocketStream>>> connect(async::DeadlineWheel& wheel, async::TaskScope& scope, CheckedEndpoint to,
                                                         Deadline deadline) {
  if (scope.closing()) co_return fail(ErrorKind::kDisconnected, "connect: the task has ended");
  auto executor = co_await boost::asio::this_coro::executor;
  auto started = open_and_start(to_socket_address({to.address(), to.port().value()}));
  if (!started) co_return fail(std::move(started).error());
  // A near upstream is connected by now. Who does not wait for it is also never told, for each byte that is later acknowledged, that the
  // socket can be written to: the loop cannot take that interest back.
  bool at_once = is_connected(started.value().get());
  auto adopted = SocketStream::adopt(executor, std::move(started).value());
  if (!adopted) co_return fail(std::move(adopted).error());
  auto stream = std::move(adopted).value();
  if (at_once) co_return stream;

  async::CallbackEntry timeout([](void* s) noexcept { static_cast<SocketStream*>(s)->abort(CloseReason::kReset); }, stream.get());
  wheel.arm(timeout, deadline);
  AbortWithScope abort(*stream);
  scope.enlist(abort);
  auto waiting = stream->writable();
  auto [failed] = co_await std::move(waiting);
  if (scope.closing()) co_return fail(ErrorKind::kDisconnected, "connect: the task has ended");
  if (failed) co_return fail(ErrorKind::kTimedOut, "connect: the deadline passed");
  wheel.disarm(timeout);

  BOOST_OUTCOME_CO_TRY(connect_error(*stream));
  auto watched_anew = stream->watch_anew();
  if (!watched_anew) co_return fail(std::move(watched_anew).error());
  co_return stream;
}

}  // namespace sallyport::net
