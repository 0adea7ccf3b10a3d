#include "proxy/served_task.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>

#include "proxy/exchange/caught.h"

namespace sallyport::proxy {
namespace {

constexpr auto kProbeTime = std::chrono::seconds(2);
constexpr std::uint16_t kDnsPort = 53;
constexpr int kAcceptsInARow = 32;

std::string_view name_of(ListenerKind kind) {
  switch (kind) {
    case ListenerKind::kProxy: return "proxy";
    case ListenerKind::kCaught: return "caught";
    case ListenerKind::kDns: return "dns";
    case ListenerKind::kDnsTcp: return "dns over tcp";
  }
  return "proxy";
}

// A foreign resolver, or the task's own: such a connection is DNS over TCP unless the policy says otherwise.
bool is_dns(Task& task, const net::Endpoint& destination) {
  using Kind = resolver::SyntheticPool::Meaning::Kind;
  if (destination.port != kDnsPort) return false;
  auto kind = task.names().lookup(destination.address).kind;
  if (kind == Kind::kResolver) return true;
  if (kind != Kind::kForeign) return false;
  auto open = [&](policy::Target target) { return task.decide_connection({std::move(target), Port::of(kDnsPort)}).allowed(); };
  auto names = task.real_addresses().names_of(destination.address, Clock::now());
  return !open(destination.address) && std::ranges::none_of(names, open);
}

}  // namespace

ServedTask::ServedTask(const ThreadServices& services, TaskSettings settings, std::vector<TaskListener> listeners, Callbacks callbacks)
    : task_(services, std::move(settings)), callbacks_(std::move(callbacks)), dns_(task_, callbacks_.probe) {
  for (auto& listener : listeners) {
    if (listener.kind == ListenerKind::kDns) {
      dns_servers_.push_back(std::make_unique<UdpDnsServer>(task_, dns_, std::move(listener.socket)));
    } else {
      int on = 1;
      // Each accepted connection inherits it.
      (void)setsockopt(listener.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      loops_.push_back(std::make_unique<AcceptLoop>(services, std::move(listener)));
      task_.scope().enlist(*loops_.back());
    }
  }
}

Result<void> ServedTask::serve() {
  for (auto& loop : loops_) {
    BOOST_OUTCOME_TRY(task_.scope().spawn(accept_on(*loop)));
  }
  for (auto& server : dns_servers_) {
    BOOST_OUTCOME_TRY(task_.scope().spawn(server->run()));
  }
  return success();
}

Awaitable<void> ServedTask::accept_on(AcceptLoop& loop) {
  for (int in_a_row = 1; task_.phase() != Task::Phase::kEnded; ++in_a_row) {
    auto accepting = loop.listener_.accept();
    auto accepted = co_await std::move(accepting);
    if (!accepted) {
      if (task_.phase() != Task::Phase::kEnded) callbacks_.listener_lost(name_of(loop.kind));
      loop.listener_.abort();
      co_return;
    }
    // Accepting does not wait while the backlog has something: a task that connects without end must not have the thread to itself.
    if (in_a_row % kAcceptsInARow == 0) {
      auto turn = boost::asio::post(task_.services().executor, kAwait);
      co_await std::move(turn);
    }
    // Past the bound the client is reset at once: a queue would only grow.
    if (task_.clients >= Task::kMaxClientConnections) {
      linger now{1, 0};
      (void)setsockopt(accepted.value().get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
      continue;
    }
    (void)task_.scope().spawn(serve_connection(std::move(accepted).value(), loop.kind));
  }
}

Awaitable<void> ServedTask::serve_connection(UniqueFd socket, ListenerKind kind) {
  auto adopted = net::SocketStream::adopt(task_.services().executor, std::move(socket));
  if (!adopted) co_return;
  std::optional<net::Endpoint> destination;
  if (kind == ListenerKind::kCaught) {
    auto local = adopted.value()->local_endpoint();
    if (!local) co_return;
    destination = local.value();
  }
  ClientConnection client(task_, kind == ListenerKind::kCaught ? ClientForm::kCaught : ClientForm::kExplicit, std::move(adopted).value(),
                          std::move(destination));
  auto serving = kind == ListenerKind::kDnsTcp ? serve_dns_tcp(client, dns_) : dispatch(client);
  co_await std::move(serving);
}

Awaitable<void> ServedTask::dispatch(ClientConnection& client) {
  bool caught = client.form() == ClientForm::kCaught;
  if (task_.phase() == Task::Phase::kAttached) {
    if (caught) {
      auto taking = take_probe(client);
      co_return co_await std::move(taking);
    }
    // A loopback port is open before its policy has been read; who was early waits.
    auto starting = task_.started();
    co_await std::move(starting);
    if (task_.phase() != Task::Phase::kRunning) co_return client.abort_both();
  }
  if (!caught) {
    auto serving = serve_explicit(client);
    co_return co_await std::move(serving);
  }
  if (is_dns(task_, *client.destination())) {
    auto serving = serve_dns_tcp(client, dns_);
    co_return co_await std::move(serving);
  }
  auto serving = serve_caught(client);
  co_await std::move(serving);
}

Awaitable<void> ServedTask::take_probe(ClientConnection& client) {
  client.expect_until(Deadline::after(kProbeTime), Expired::kHeader);
  auto& input = client.input();
  while (input.view().find('\n') == std::string_view::npos) {
    if (input.size() >= firewall::kMaxProbeLine) co_return client.abort_both();
    auto reading = client.read_more();
    auto got = co_await std::move(reading);
    if (!got || got.value() == 0) co_return client.abort_both();
  }
  auto call = firewall::parse_probe_line(input.view());
  if (!call) co_return client.abort_both();
  callbacks_.probe({call.value(), *client.destination(), false});
  auto writing = client.stream().write_all(firewall::kProbeAnswer);
  (void)co_await std::move(writing);
}

}  // namespace sallyport::proxy
