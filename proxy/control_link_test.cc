#include "proxy/control_link.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "core/ipc/message.h"

namespace sallyport::proxy {
namespace {

using namespace std::chrono_literals;

UniqueFd loopback_listener(sockaddr_in& at) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  at = {};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at), &length), 0);
  EXPECT_EQ(::listen(socket.get(), 8), 0);
  return socket;
}

// A proxy's home thread with control, resolver and audit played by the test. Nobody reads the audit ring.
struct Home {
  Home() {
    auto control_ends = ipc::Channel::pair().value();
    auto resolver_ends = ipc::Channel::pair().value();
    control = std::move(control_ends.first);
    resolver_end = std::move(resolver_ends.first);
    ring = audit::AuditRing::create(audit::AuditRing::kMinSize).value();
    recorder.emplace(io.get_executor(), audit::AuditRing::open(ring.duplicate().value()).value());
    resolver.emplace(io.get_executor(), wheel, std::move(resolver_ends.second));
    dialer.emplace(wheel, *resolver, addresses);
    link.emplace(ThreadServices{io.get_executor(), wheel, *recorder, *dialer, relays}, std::move(control_ends.second));
    EXPECT_TRUE(scope.spawn(wheel.run(stop)).has_value());
    EXPECT_TRUE(scope.spawn(recorder->run()).has_value());
    EXPECT_TRUE(scope.spawn(resolver->run()).has_value());
    EXPECT_TRUE(scope.spawn(serve(*this)).has_value());
  }

  static Awaitable<void> serve(Home& home) {
    auto running = home.link->run();
    co_await std::move(running);
    home.recorder->stop();
    home.resolver->stop();
    home.stop = true;
  }

  void send(const api::ToProxy& message, std::span<const int> descriptors = {}) {
    EXPECT_TRUE(ipc::send_message(control, message, descriptors, Deadline::after(1s)).has_value());
  }

  // A running task whose policy denies everything, with one explicit listener.
  sockaddr_in add_task(const std::string& id) {
    sockaddr_in at;
    auto listener = loopback_listener(at);
    UniqueFd policy(::memfd_create("policy", MFD_CLOEXEC));
    api::ToProxy message;
    auto& add = *message.mutable_add_task();
    add.set_task(id);
    add.set_pool4("198.18.0.0/20");
    add.set_pool6("fd53:7079:0:1::/64");
    add.add_listeners(api::PROXY);
    const int descriptors[] = {policy.get(), listener.get()};
    send(message, descriptors);
    api::ToProxy run;
    run.mutable_run_task()->set_task(id);
    send(run);
    io.run_for(50ms);
    return at;
  }

  IoContext io{1};
  async::DeadlineWheel wheel{Clock::now()};
  net::AddressPolicy addresses;
  audit::RingDescriptors ring;
  ipc::Channel control, resolver_end;
  std::optional<Recorder> recorder;
  std::optional<ResolverClient> resolver;
  std::optional<Dialer> dialer;
  net::RelayPool relays;
  std::optional<ControlLink> link;
  bool stop = false;
  async::TaskScope scope{io.get_executor(), 8};
};

// A request whose refusal waits for the audit log.
UniqueFd ask(const sockaddr_in& at) {
  UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  constexpr std::string_view kRequest = "GET http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n";
  EXPECT_EQ(::send(client.get(), kRequest.data(), kRequest.size(), 0), static_cast<ssize_t>(kRequest.size()));
  return client;
}

TEST(ControlLink, EndsWithControlThoughATaskIsEndingAndAuditStandsStill) {
  Home home;
  auto at = home.add_task("t-1");
  auto client = ask(at);
  home.io.run_for(50ms);
  api::ToProxy end;
  end.mutable_end_task()->set_task("t-1");
  home.send(end);
  home.io.run_for(50ms);  // the end of the task waits for the request, which waits for audit
  EXPECT_FALSE(home.stop);
  home.control.close();
  home.io.run_for(2s);
  EXPECT_TRUE(home.stop);
  EXPECT_EQ(home.scope.running(), 0u);
}

TEST(ControlLink, EndsWithControlThoughAuditStandsStill) {
  Home home;
  auto client = ask(home.add_task("t-1"));
  home.io.run_for(50ms);
  home.control.close();
  home.io.run_for(2s);
  EXPECT_TRUE(home.stop);
  EXPECT_EQ(home.scope.running(), 0u);
}

}  // namespace
}  // namespace sallyport::proxy
