#include "proxy/exchange/caught.h"

#include "firewall/api/plan.h"
#include "proxy/exchange/http_session.h"
#include "proxy/local/internal_pages.h"
#include "proxy/tunnel/tunnel.h"

namespace sallyport::proxy {
namespace {

using policy::ReasonCode;
using Kind = resolver::SyntheticPool::Meaning::Kind;

// What a caught connection meant, or why it is closed.
struct Meant {
  std::optional<policy::Target> target;
  ReasonCode reason = ReasonCode::kUnassignedAddress;
};

bool is_own(const IpAddress& address) {
  static const IpAddress own4 = IpAddress::parse(firewall::kOwnAddress4).value();
  static const IpAddress own6 = IpAddress::parse(firewall::kOwnAddress6).value();
  auto bytes = address.bytes();
  bool loopback = address.is_v4() ? bytes[0] == 127 : address == IpAddress::parse("::1").value();
  return loopback || address == own4 || address == own6;
}

Meant meaning_of(Task& task, const net::Endpoint& destination) {
  if (is_own(destination.address) || destination.port == firewall::kCatchAllPort) return {std::nullopt, ReasonCode::kSelfConnection};
  auto meaning = task.names().lookup(destination.address);
  switch (meaning.kind) {
    case Kind::kForeign:
      return {destination.address, ReasonCode::kAllowed};
    case Kind::kName:
      return {*meaning.name, ReasonCode::kAllowed};
    case Kind::kInternal:
      return {HostName::parse(kInternalHost).value(), ReasonCode::kAllowed};
    case Kind::kUnassigned:
    case Kind::kResolver:
      break;
  }
  return {std::nullopt, ReasonCode::kUnassignedAddress};
}

Awaitable<void> serve_http(ClientConnection& client, policy::Target target, Port port) {
  HttpSession session(client, Origin{std::move(target), port});
  auto serving = session.run();
  co_await std::move(serving);
}

Awaitable<void> serve_tunnel(ClientConnection& client, policy::ApprovedDestination destination, Decision d) {
  bool is_tls = destination.treatment() == policy::Treatment::kTlsTunnel;
  if (is_tls) {
    // Nothing is dialled before it is known what the client speaks.
    auto checking = check_client_hello(client, destination);
    if (!co_await std::move(checking)) co_return;
  }
  auto opening = open_upstream(client, destination);
  auto opened = co_await std::move(opening);
  if (!opened.connection) {
    d.reason = opened.failure.reason;
    d.detail = opened.failure.detail;
    if (!is_tls) co_return refuse_by_reset(client, d);
    auto refusing = refuse_tls(client, d, tls::AlertDescription::kInternalError);
    co_return co_await std::move(refusing);
  }
  auto running = run_tunnel(client, destination, std::move(opened.connection));
  co_await std::move(running);
}

}  // namespace

Awaitable<void> serve_explicit(ClientConnection& client) {
  HttpSession session(client, std::nullopt);
  auto serving = session.run();
  co_await std::move(serving);
}

Awaitable<void> serve_caught(ClientConnection& client) {
  Task& task = client.task();
  const auto& destination = *client.destination();
  std::string destination_text = destination.text();
  auto meant = meaning_of(task, destination);
  Decision d;
  d.form = ClientForm::kCaught;
  d.connection = client.id();
  d.port = destination.port;
  d.destination = destination_text;
  d.reason = meant.reason;
  d.asked = destination_text;
  if (!meant.target || destination.port == 0) co_return refuse_by_reset(client, d);
  d.asked = {};
  d.target = &*meant.target;
  Port port = Port::of(destination.port);
  const HostName* name = meant.target->host();
  if (name != nullptr && name->text() == kInternalHost && port == Port::of(80)) {
    auto serving = serve_http(client, *meant.target, port);
    co_return co_await std::move(serving);
  }
  auto policy = task.policy_snapshot();  // the verdict borrows from it
  auto verdict = task.decide_connection({*meant.target, port});
  d.reason = verdict.reason;
  d.rule = verdict.rule;
  d.nearest = verdict.nearest;
  if (!verdict.allowed()) {
    auto refusing = refuse_unclassified(client, d);
    co_return co_await std::move(refusing);
  }
  if (auto recorded = task.record(d); !recorded) co_return client.abort_both();
  if (verdict.treatment == policy::Treatment::kHttp) {
    auto serving = serve_http(client, *meant.target, port);
    co_return co_await std::move(serving);
  }
  auto serving = serve_tunnel(client, *verdict.destination, d);
  co_await std::move(serving);
}

}  // namespace sallyport::proxy
