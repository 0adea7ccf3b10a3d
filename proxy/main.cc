// sallyport-proxy: the data plane and the tasks' DNS, for one owner. Started by control with its channel as descriptor 3.
#include <boost/asio/co_spawn.hpp>
#include <cstdio>

#include "core/ipc/message.h"
#include "core/sys/confine.h"
#include "core/sys/descriptor_limit.h"
#include "core/sys/signals.h"
#include "proxy/control_link.h"
#include "proxy/syscalls.h"

namespace sallyport::proxy {
namespace {

constexpr int kControlDescriptor = 3;
constexpr std::size_t kStartDescriptors = 4;  // resolver, ring memory, doorbell, acknowledgement
constexpr auto kStartTime = std::chrono::seconds(10);
constexpr std::uint64_t kDescriptors = 65536;  // two for each connection of a few busy tasks

Result<net::AddressPolicy> address_policy(const api::Start& start) {
  net::AddressPolicy::Settings settings;
  for (const auto& text : start.permit()) {
    BOOST_OUTCOME_TRY(auto prefix, IpPrefix::parse(text));
    settings.permit.push_back(prefix);
  }
  for (const auto& text : start.own_addresses()) {
    BOOST_OUTCOME_TRY(auto address, IpAddress::parse(text));
    settings.own_addresses.push_back(address);
  }
  for (const auto& text : start.own_sockets()) {
    auto colon = text.rfind(':');
    if (colon == std::string::npos) return fail(ErrorKind::kInvalid, "an own socket without a port");
    auto host = std::string_view(text).substr(0, colon);
    bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    BOOST_OUTCOME_TRY(auto address, IpAddress::parse(bracketed ? host.substr(1, host.size() - 2) : host));
    BOOST_OUTCOME_TRY(auto port, Port::parse(text.substr(colon + 1)));
    settings.own_sockets.push_back({address, port});
  }
  return net::AddressPolicy(std::move(settings));
}

Result<void> confine(const api::Start& start) {
  sys::Confinement confinement;
  if (start.as_root()) confinement.user = sys::User{start.user(), start.user()};
  confinement.network = sys::Confinement::Network::kUse;
  confinement.filter = proxy_syscalls();
  BOOST_OUTCOME_TRY(sys::confine(confinement));
  return success();
}

// Everything of the one home thread, in the order in which it must be destroyed backwards.
struct HomeThread {
  HomeThread(net::AddressPolicy policy, audit::AuditRing ring, ipc::Channel resolver_channel, ipc::Channel control)
      : addresses(std::move(policy)), recorder(io.get_executor(), std::move(ring)),
        resolver(io.get_executor(), wheel, std::move(resolver_channel)), dialer(wheel, resolver, addresses),
        link(ThreadServices{io.get_executor(), wheel, recorder, dialer, relays}, std::move(control)), scope(io.get_executor(), 8) {}

  static Awaitable<void> serve(HomeThread& home) {
    auto running = home.link.run();
    co_await std::move(running);
    home.recorder.stop();
    home.resolver.stop();
    home.stop = true;
  }

  Result<void> run() {
    BOOST_OUTCOME_TRY(scope.spawn(wheel.run(stop)));
    BOOST_OUTCOME_TRY(scope.spawn(recorder.run()));
    BOOST_OUTCOME_TRY(scope.spawn(resolver.run()));
    BOOST_OUTCOME_TRY(scope.spawn(serve(*this)));
    io.run();
    return success();
  }

  IoContext io{1};
  async::DeadlineWheel wheel{Clock::now()};
  net::AddressPolicy addresses;
  Recorder recorder;
  ResolverClient resolver;
  Dialer dialer;
  net::RelayPool relays;
  ControlLink link;
  bool stop = false;
  async::TaskScope scope;
};

Result<void> run() {
  BOOST_OUTCOME_TRY(auto control, ipc::Channel::adopt(UniqueFd(kControlDescriptor)));
  BOOST_OUTCOME_TRY(auto start, ipc::receive_message<api::ToProxy>(control, Deadline::after(kStartTime), kStartDescriptors));
  if (!start.message.has_start() || start.descriptors.size() != kStartDescriptors)
    return fail(ErrorKind::kDenied, "the first message must be Start with four descriptors");
  BOOST_OUTCOME_TRY(auto addresses, address_policy(start.message.start()));
  auto& fds = start.descriptors;
  BOOST_OUTCOME_TRY(auto resolver, ipc::Channel::adopt(std::move(fds[0])));
  BOOST_OUTCOME_TRY(auto ring, audit::AuditRing::open({std::move(fds[1]), std::move(fds[2]), std::move(fds[3])}));
  HomeThread home(std::move(addresses), std::move(ring), std::move(resolver), std::move(control));
  sys::use_available_descriptors(kDescriptors);
  BOOST_OUTCOME_TRY(confine(start.message.start()));
  api::FromProxy ready;
  ready.mutable_ready();
  home.link.send(ready);
  return home.run();
}

}  // namespace
}  // namespace sallyport::proxy

int main() {
  sallyport::sys::ignore_sigpipe();
  auto ended = sallyport::proxy::run();
  if (ended) return 0;
  std::fprintf(stderr, "sallyport-proxy: %s\n", ended.error().to_string().c_str());
  return 1;
}
