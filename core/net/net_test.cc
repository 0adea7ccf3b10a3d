#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "core/async/sleep.h"
#include "core/net/connector.h"
#include "core/net/listener.h"

namespace sallyport::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

UniqueFd loopback_listener(std::uint16_t& port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  auto address = to_socket_address({IpAddress::v4({127, 0, 0, 1}), 0});
  EXPECT_EQ(::bind(fd.get(), address.get(), address.length), 0);
  EXPECT_EQ(::listen(fd.get(), 4), 0);
  EXPECT_EQ(::getsockname(fd.get(), address.get(), &address.length), 0);
  port = from_socket_address(address).value().port;
  return fd;
}

AddressPolicy loopback_permitted() {
  AddressPolicy::Settings settings;
  settings.permit.push_back(IpPrefix::parse("127.0.0.0/8").value());
  return AddressPolicy(settings);
}

// Runs one coroutine on a loop with a wheel; fails the test after five seconds.
struct Loop {
  IoContext io{1};
  async::DeadlineWheel wheel{Clock::now()};
  bool stop = false;
  async::TaskScope scope{io.get_executor(), 8};

  template <class Work>
  void run(Work work) {
    boost::asio::co_spawn(io, wheel.run(stop), boost::asio::detached);
    boost::asio::co_spawn(io, work(*this), [this](std::exception_ptr fault) {
      EXPECT_FALSE(fault);
      stop = true;
    });
    io.run_for(seconds(5));
    EXPECT_TRUE(stop) << "timed out";
  }
};

Awaitable<void> echo_once(Loop& loop) {
  std::uint16_t port = 0;
  Listener listener(loop.io.get_executor(), loop.wheel, loopback_listener(port));
  auto checked = loopback_permitted().check(IpAddress::v4({127, 0, 0, 1}), Port::of(port));
  EXPECT_TRUE(checked);
  auto connecting = connect(loop.wheel, loop.scope, checked.value(), Deadline::after(seconds(2)));
  auto client = co_await std::move(connecting);
  EXPECT_TRUE(client);
  auto accepting = listener.accept();
  auto accepted = co_await std::move(accepting);
  EXPECT_TRUE(accepted);
  auto server = SocketStream::adopt(loop.io.get_executor(), std::move(accepted).value()).value();
  EXPECT_EQ(server->local_endpoint().value().port, port);

  auto writing = client.value()->write_all("hello, ", "world");
  auto written = co_await std::move(writing);
  EXPECT_TRUE(written);
  client.value()->shutdown_write();
  std::string got;
  char buffer[64];
  for (;;) {
    auto reading = server->read_some(buffer);
    auto read = co_await std::move(reading);
    EXPECT_TRUE(read);
    if (!read || read.value() == 0) break;
    got.append(buffer, read.value());
  }
  EXPECT_EQ(got, "hello, world");
  EXPECT_FALSE(server->idle_and_open());
  EXPECT_TRUE(client.value()->idle_and_open());
}

TEST(SocketStream, CarriesBytesAndTheEndOfThem) { Loop().run(echo_once); }

Awaitable<void> abort_a_read(Loop& loop) {
  int pair[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
  UniqueFd other(pair[1]);
  auto stream = SocketStream::adopt(loop.io.get_executor(), UniqueFd(pair[0])).value();
  async::CallbackEntry timeout([](void* s) noexcept { static_cast<SocketStream*>(s)->abort(CloseReason::kReset); }, stream.get());
  loop.wheel.arm(timeout, Deadline::after(milliseconds(30)));
  char buffer[8];
  auto reading = stream->read_some(buffer);
  auto read = co_await std::move(reading);
  EXPECT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::kDisconnected);
  auto again = stream->read_some(buffer);
  auto read_again = co_await std::move(again);
  EXPECT_FALSE(read_again);
}

TEST(SocketStream, AbortEndsAWaitingReadAndEveryLaterOne) { Loop().run(abort_a_read); }

// Two ends of one TCP connection on loopback.
struct TcpPair {
  TcpPair() {
    std::uint16_t port = 0;
    auto listener = loopback_listener(port);
    auto address = to_socket_address({IpAddress::v4({127, 0, 0, 1}), port});
    far.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(far.get(), address.get(), address.length), 0);
    UniqueFd accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    near = SocketStream::adopt(io.get_executor(), std::move(accepted)).value();
  }
  IoContext io{1};
  UniqueFd far;
  std::unique_ptr<SocketStream> near;
};

TEST(SocketStream, IsNotDeadAfterAnOrderlyEndOfBothStreams) {
  TcpPair pair;
  EXPECT_FALSE(pair.near->is_dead());
  pair.near->shutdown_write();
  char buffer[8];
  EXPECT_EQ(::recv(pair.far.get(), buffer, sizeof buffer, 0), 0);
  EXPECT_EQ(::send(pair.far.get(), "tail", 4, MSG_NOSIGNAL), 4);
  pair.far.reset();
  EXPECT_FALSE(pair.near->is_dead()) << "there is something to read";
  EXPECT_EQ(pair.near->receive_now(buffer).count, 4u);
  EXPECT_TRUE(pair.near->receive_now(buffer).ended());
}

TEST(SocketStream, IsDeadOnceReset) {
  for (bool after_its_end : {false, true}) {
    TcpPair pair;
    if (after_its_end) EXPECT_EQ(::shutdown(pair.far.get(), SHUT_WR), 0);
    EXPECT_FALSE(pair.near->is_dead());
    linger now{1, 0};
    EXPECT_EQ(::setsockopt(pair.far.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    pair.far.reset();
    EXPECT_TRUE(pair.near->is_dead());
    EXPECT_TRUE(pair.near->is_dead()) << "asking takes nothing away";
    EXPECT_TRUE(pair.near->send_now("x").failed());
  }
}

Awaitable<void> connect_refused(Loop& loop) {
  std::uint16_t port = 0;
  loopback_listener(port).reset();
  auto checked = loopback_permitted().check(IpAddress::v4({127, 0, 0, 1}), Port::of(port));
  auto connecting = connect(loop.wheel, loop.scope, checked.value(), Deadline::after(seconds(2)));
  auto client = co_await std::move(connecting);
  EXPECT_FALSE(client);
  EXPECT_EQ(client.error().kind, ErrorKind::kUnavailable);
}

TEST(Connector, ReportsARefusedConnection) { Loop().run(connect_refused); }

Awaitable<void> lost_listener(Loop& loop) {
  std::uint16_t port = 0;
  UniqueFd socket = loopback_listener(port);
  int fd = socket.get();
  Listener listener(loop.io.get_executor(), loop.wheel, std::move(socket));
  ::shutdown(fd, SHUT_RDWR);  // what `ss -K` leaves behind: accept gives EINVAL for ever
  auto accepting = listener.accept();
  auto accepted = co_await std::move(accepting);
  EXPECT_FALSE(accepted);
  EXPECT_EQ(accepted.error().kind, ErrorKind::kDisconnected);
}

TEST(Listener, EndsInsteadOfSpinningWhenTheSocketIsKilled) { Loop().run(lost_listener); }

}  // namespace
}  // namespace sallyport::net
