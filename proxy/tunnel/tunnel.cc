#include "proxy/tunnel/tunnel.h"

#include "proxy/tunnel/relay.h"

namespace sallyport::proxy {
namespace {

using audit::FieldId;

std::string_view limit_of(const ClientConnection& client, const RelayTotals& totals) {
  if (totals.limit) return to_string(*totals.limit);
  if (client.expired() == Expired::kDuration) return "connections.duration";
  if (client.expired() == Expired::kIdle) return "idle";
  return {};
}

void record_tunnel(ClientConnection& client, const policy::ApprovedDestination& destination, const UpstreamConnection& upstream,
                   const RelayTotals& totals) {
  Task& task = client.task();
  auto& use = task.destinations().of(destination.target(), destination.port());
  use.bytes_up += totals.up;
  use.bytes_down += totals.down;
  auto duration = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - client.opened()).count();

  audit::RecordBuilder r(audit::RecordKind::kTunnel, task.id());
  r.number(FieldId::kConnectionId, client.id()).text(FieldId::kRule, destination.rule().id);
  r.text(FieldId::kProtocol, destination.treatment() == policy::Treatment::kTlsTunnel ? "tls" : "tcp");
  r.text(FieldId::kClientForm, to_string(client.form())).text(FieldId::kNameUsed, destination.target().text());
  r.number(FieldId::kPort, destination.port().value()).text(FieldId::kAddressDialled, upstream.endpoint.text());
  r.number(FieldId::kBytesUp, totals.up).number(FieldId::kBytesDown, totals.down);
  r.number(FieldId::kDurationUs, static_cast<std::uint64_t>(duration));
  auto limit = limit_of(client, totals);
  if (!limit.empty()) {
    r.text(FieldId::kLimit, limit);
    task.limit_reached(limit, totals.rule_limit ? static_cast<int>(destination.rule().index) : -1);
  }
  (void)task.services().recorder.append(r);  // a full ring notes the loss as a gap
}

}  // namespace

Awaitable<void> run_tunnel(ClientConnection& client, const policy::ApprovedDestination& destination,
                           std::unique_ptr<UpstreamConnection> upstream) {
  Task& task = client.task();
  client.set_upstream(upstream->stream.get());
  client.end_at(task.connection_deadline(destination.rule(), client.opened()));
  Relay relay(client, *upstream, task.limits(destination.rule()), task.idle_limit());
  auto running = relay.run();
  auto totals = co_await std::move(running);
  client.set_upstream(nullptr);
  record_tunnel(client, destination, *upstream, totals);
}

}  // namespace sallyport::proxy
