// ServedTask: a Task with its listeners: accepts on them, answers its DNS, and takes its self-test's probes.
#pragma once

#include <memory>
#include <vector>

#include "core/net/listener.h"
#include "proxy/dns/task_dns.h"
#include "proxy/task/task.h"

namespace sallyport::proxy {

enum class ListenerKind : std::uint8_t { kProxy, kCaught, kDns, kDnsTcp };

struct TaskListener {
  ListenerKind kind;
  UniqueFd socket;
};

class ServedTask {
 public:
  struct Callbacks {
    ReportProbe probe;
    std::function<void(std::string_view listener)> listener_lost;
  };

  ServedTask(const ThreadServices& services, TaskSettings settings, std::vector<TaskListener> listeners, Callbacks callbacks);

  Task& task() noexcept { return task_; }
  // Starts accepting: probes only, until task().run(). kOverloaded without room.
  Result<void> serve();

 private:
  struct AcceptLoop final : async::Abortable {
    AcceptLoop(const ThreadServices& services, TaskListener listener)
        : kind(listener.kind), listener_(services.executor, services.wheel, std::move(listener.socket)) {}
    void abort(async::CancelReason) noexcept override { listener_.abort(); }
    ListenerKind kind;
    net::Listener listener_;
  };

  Awaitable<void> accept_on(AcceptLoop& loop);
  Awaitable<void> serve_connection(UniqueFd socket, ListenerKind kind);
  Awaitable<void> dispatch(ClientConnection& client);
  Awaitable<void> take_probe(ClientConnection& client);

  Task task_;
  Callbacks callbacks_;
  TaskDns dns_;
  std::vector<std::unique_ptr<AcceptLoop>> loops_;
  std::vector<std::unique_ptr<UdpDnsServer>> dns_servers_;
};

}  // namespace sallyport::proxy
