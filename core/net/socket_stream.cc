#include "core/net/socket_stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>

namespace sallyport::net {
namespace {

using boost::system::error_code;

Error from_code(std::string_view what, const error_code& code) {
  if (code == boost::asio::error::operation_aborted || code == boost::asio::error::bad_descriptor)
    return Error{ErrorKind::kDisconnected, 0, std::string(what) + ": aborted"};
  return Error::from_errno(what, code.value());
}

template <class Call>
Transfer attempt(Call call) noexcept {
  for (;;) {
    auto returned = call();
    if (auto transfer = Transfer::from_call(returned, errno)) return *transfer;
  }
}

}  // namespace

Result<std::unique_ptr<SocketStream>> SocketStream::adopt(Executor executor, UniqueFd socket) {
  auto stream = std::unique_ptr<SocketStream>(new SocketStream(executor));
  int family = AF_INET, protocol = 0;
  error_code code;
  stream->socket_.assign({family, protocol}, socket.get(), code);
  if (code) return fail(from_code("watch a socket", code));
  (void)socket.release();
  // The descriptor is non-blocking already; this tells Asio so.
  stream->socket_.native_non_blocking(true, code);
  if (code) return fail(from_code("watch a socket", code));
  return stream;
}

Awaitable<Result<std::size_t>> SocketStream::read_some(std::span<char> buffer) {
  auto reading = socket_.async_read_some(boost::asio::buffer(buffer.data(), buffer.size()), kAwait);
  auto [code, count] = co_await std::move(reading);
  if (code == boost::asio::error::eof) co_return std::size_t{0};
  if (code) co_return fail(from_code("read", code));
  co_return count;
}

// As much as goes at once. Nothing (an error too) counts as not at all: the waiting write that follows says what is wrong.
std::size_t SocketStream::write_now(std::string_view first, std::string_view second) noexcept {
  if (second.empty()) {
    auto sent = ::send(socket_.native_handle(), first.data(), first.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  std::array<iovec, 2> parts{iovec{const_cast<char*>(first.data()), first.size()}, iovec{const_cast<char*>(second.data()), second.size()}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = 2;
  auto sent = ::sendmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}

Awaitable<Result<void>> SocketStream::write_all(std::string_view first, std::string_view second) {
  // Most writes fit: then there is no waiting, and no way through the loop.
  auto sent = write_now(first, second);
  if (sent == first.size() + second.size()) co_return success();
  auto of_first = std::min(sent, first.size());
  first.remove_prefix(of_first);
  second.remove_prefix(sent - of_first);
  std::array<boost::asio::const_buffer, 2> parts{boost::asio::buffer(first.data(), first.size()),
                                                 boost::asio::buffer(second.data(), second.size())};
  auto writing = boost::asio::async_write(socket_, parts, kAwait);
  auto [code, count] = co_await std::move(writing);
  if (code) co_return fail(from_code("write", code));
  co_return success();
}

Result<void> SocketStream::watch_anew() {
  error_code code;
  UniqueFd socket(socket_.release(code));
  if (code) return fail(from_code("watch a socket", code));
  int family = AF_INET, protocol = 0;
  socket_.assign({family, protocol}, socket.get(), code);
  if (code) return fail(from_code("watch a socket", code));
  (void)socket.release();
  socket_.native_non_blocking(true, code);
  if (code) return fail(from_code("watch a socket", code));
  return success();
}

void SocketStream::shutdown_write() noexcept {
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void SocketStream::abort(CloseReason reason) noexcept {
  error_code ignored;
  if (!socket_.is_open()) return;
  if (reason == CloseReason::kReset) {
    linger now{1, 0};
    (void)setsockopt(socket_.native_handle(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  socket_.close(ignored);
}

Result<Endpoint> SocketStream::local_endpoint() const {
  SocketAddress address;
  if (getsockname(socket_.native_handle(), address.get(), &address.length) != 0) return fail_errno("getsockname");
  return from_socket_address(address);
}

Result<Endpoint> SocketStream::peer_endpoint() const {
  SocketAddress address;
  if (getpeername(socket_.native_handle(), address.get(), &address.length) != 0) return fail_errno("getpeername");
  return from_socket_address(address);
}

bool SocketStream::idle_and_open() const noexcept {
  return socket_.is_open() && look().blocked();
}

Transfer SocketStream::receive_now(std::span<char> buffer) noexcept {
  return attempt([&] { return ::recv(socket_.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT); });
}

Transfer SocketStream::send_now(std::string_view bytes) noexcept {
  return attempt([&] { return ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL); });
}

Transfer SocketStream::look() const noexcept {
  char byte = 0;
  return attempt([&] { return ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT); });
}

bool SocketStream::is_dead() noexcept {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (!socket_.is_open()) return true;
  if (getsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return false;
  if (info.tcpi_state != TCP_CLOSE) return false;
  // The state is the same after an orderly end of both streams, with bytes that can still be read. Only a fault leaves an error, which
  // poll(2) shows without taking it away.
  pollfd fault{socket_.native_handle(), 0, 0};
  return ::poll(&fault, 1, 0) == 1 && (fault.revents & POLLERR) != 0;
}

bool SocketStream::is_delivered() noexcept {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (!socket_.is_open() || getsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return true;
  switch (info.tcpi_state) {
    case TCP_ESTABLISHED:
    case TCP_CLOSE_WAIT:
    case TCP_FIN_WAIT1:
    case TCP_CLOSING:
    case TCP_LAST_ACK:
      return false;
    default:
      return true;  // the end was acknowledged, or there is nobody any more who could
  }
}

void SocketStream::cancel_waits() noexcept {
  error_code ignored;
  socket_.cancel(ignored);
}

}  // namespace sallyport::net
