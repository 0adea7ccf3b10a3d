// SocketStream: a Stream over a connected stream socket, and the addresses of its two ends.
#pragma once

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <memory>

#include "core/base/unique_fd.h"
#include "core/net/endpoint.h"
#include "core/net/stream.h"
#include "core/net/transfer.h"

namespace sallyport::net {

class SocketStream final : public Stream {
 public:
  // Takes a connected, non-blocking stream socket. kInternal when the loop cannot watch it.
  static Result<std::unique_ptr<SocketStream>> adopt(Executor executor, UniqueFd socket);
  ~SocketStream() override = default;

  Awaitable<Result<std::size_t>> read_some(std::span<char> buffer) override;
  // Forgets an interest in writability, which otherwise wakes the loop for each acknowledgement ever after. Nobody may be waiting.
  Result<void> watch_anew();
  Awaitable<Result<void>> write_all(std::string_view first, std::string_view second = {}) override;
  // What goes without waiting, in bytes; the caller writes the rest with write_all.
  std::size_t write_now(std::string_view first, std::string_view second = {}) noexcept;
  void shutdown_write() noexcept override;
  void abort(CloseReason reason) noexcept override;

  // What getsockname says: under TPROXY, the address the client meant.
  Result<Endpoint> local_endpoint() const;
  Result<Endpoint> peer_endpoint() const;
  // A connection kept idle is fit for another request only if nothing, not even an end, has arrived.
  bool idle_and_open() const noexcept;
  int fd() noexcept { return socket_.native_handle(); }

  // For relays, which try before they wait. The first three never wait.
  Transfer receive_now(std::span<char> buffer) noexcept;
  Transfer send_now(std::string_view bytes) noexcept;
  // Whether a read would find bytes (kMoved), the end or nothing; takes nothing.
  Transfer look() const noexcept;
  // True once the connection has broken, also while nobody reads or writes it, and until somebody was told so; not after an orderly end.
  // And: once all that was written, with the end of the stream if shut down, has been acknowledged. Of sockets other than TCP: false,
  // and true.
  bool is_dead() noexcept;
  bool is_delivered() noexcept;
  // Complete when a read, a write would not wait; an error says that there is nothing more to wait for. Without a coroutine of their own:
  // a tunnel waits long, and there are many.
  using Readiness = Awaitable<std::tuple<boost::system::error_code>>;
  Readiness readable() { return socket_.async_wait(Socket::wait_read, kAwait); }
  Readiness writable() { return socket_.async_wait(Socket::wait_write, kAwait); }
  // Ends whoever waits, with an error; the connection stays open.
  void cancel_waits() noexcept;

 private:
  using Socket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, Executor>;
  explicit SocketStream(Executor executor) : socket_(executor) {}

  mutable Socket socket_;
};

}  // namespace sallyport::net
