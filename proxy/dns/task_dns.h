// TaskDns: answers a task's DNS questions, whatever address they were sent to. Nothing is asked upstream for them but what a rule's
// `dns:` grants.
#pragma once

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <functional>
#include <span>
#include <set>
#include <vector>

#include "firewall/api/probe_line.h"
#include "proxy/client/connection.h"
#include "proxy/task/task.h"
#include "resolver/answers/answer.h"

namespace sallyport::proxy {

// A probe of the self-test, as the kernel says it arrived.
struct SeenProbe {
  firewall::ProbeCall call;
  net::Endpoint destination;
  bool udp = false;
};
using ReportProbe = std::function<void(const SeenProbe&)>;

class TaskDns {
 public:
  // Borrows the task. `report` is told of probe questions while the task is only attached; nothing else is answered then.
  TaskDns(Task& task, ReportProbe report) : task_(task), report_(std::move(report)) {}

  static constexpr std::size_t kMaxLookups = 128;  // at one time
  static constexpr auto kLookupTime = std::chrono::seconds(6);

  struct Reply {
    std::span<const std::uint8_t> bytes = {};  // of `out`; empty: none
    // There is none yet: look_up() makes it.
    std::optional<resolver::PendingLookup> pending = std::nullopt;
  };

  // The reply to one message that was sent to `destination`. `out`: at least dns::kResponseBuffer bytes.
  Reply answer(std::span<const std::uint8_t> message, dns::Transport transport, const net::Endpoint& destination, std::span<std::uint8_t> out);
  // Looks up what a reply needs and writes it; empty: none. `out`, of dns::kTcpResponseBuffer bytes, must live on.
  Awaitable<std::span<const std::uint8_t>> look_up(resolver::PendingLookup pending, dns::Transport transport, std::span<std::uint8_t> out);

 private:
  bool take_probe(std::span<const std::uint8_t> message, const net::Endpoint& destination);
  resolver::NameDecision decide(const HostName& name, dns::Type type);
  resolver::Answered answer_for(std::span<const std::uint8_t> message, dns::Transport transport, std::span<std::uint8_t> out);
  bool is_first(const resolver::AnswerRecord& record);
  bool record(const resolver::AnswerRecord& record);

  Task& task_;
  ReportProbe report_;
  std::size_t lookups_ = 0;
  std::set<std::pair<std::string, dns::Type>> looked_up_;  // what has been recorded; bounded
};

// Serves a DNS socket of a task until it is aborted: batches in, batches out; replies leave from the address that was asked.
class UdpDnsServer final : public async::Abortable {
 public:
  // Takes a bound, non-blocking UDP socket with packet information switched on.
  UdpDnsServer(Task& task, TaskDns& dns, UniqueFd socket);
  ~UdpDnsServer() override;
  Awaitable<void> run();
  void abort(async::CancelReason reason) noexcept override;

 private:
  struct Asker;
  bool serve_batch();
  Awaitable<void> answer_late(Asker asker, resolver::PendingLookup pending);

  Task& task_;
  TaskDns& dns_;
  boost::asio::posix::basic_stream_descriptor<Executor> socket_;
  std::unique_ptr<struct UdpBatch> batch_;
};

// DNS over TCP on a caught connection to port 53 (RFC 7766).
Awaitable<void> serve_dns_tcp(ClientConnection& client, TaskDns& dns);

}  // namespace sallyport::proxy
