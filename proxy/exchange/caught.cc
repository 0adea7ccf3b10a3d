#include "proxy/exchange/caught.h"

#include "firewall/api/plan.h"
#include "proxy/exchange/http_session.h"
#include "proxy/exchange/shared_address.h"
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

struct RealName {
  std::optional<HostName> name;  // none: an address like any other
  bool undecided = false;        // it has several names, and nothing chose one
};

// The name that a true address which the task was given stands for. Of several that may be connected to at this port the client chooses.
Awaitable<RealName> name_of_real_address(ClientConnection& client) {
  Task& task = client.task();
  const auto& destination = *client.destination();
  auto names = task.real_addresses().names_of(destination.address, Clock::now());
  if (names.empty()) co_return RealName{};
  Port port = Port::of(destination.port);
  std::vector<HostName> open;
  for (const HostName& name : names)
    if (task.decide_connection({name, port}).allowed()) open.push_back(name);
  bool literal = open.empty() && task.decide_connection({destination.address, port}).allowed();
  if (literal) co_return RealName{};
  if (open.size() <= 1) co_return RealName{open.empty() ? names.front() : open.front(), false};
  auto choosing = choose_name(client, open);
  auto chosen = co_await std::move(choosing);
  co_return RealName{chosen, !chosen};
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
  bool shared = false;
  if (meant.target && meant.target->is_literal()) {
    auto choosing = name_of_real_address(client);
    auto chosen = co_await std::move(choosing);
    if (chosen.name) {
      meant.target = *chosen.name;
      client.set_dial_only(destination.address);
    }
    shared = chosen.undecided;
  }
  Decision d;
  d.form = ClientForm::kCaught;
  d.connection = client.id();
  d.port = destination.port;
  d.destination = destination_text;
  d.reason = meant.reason;
  d.asked = destination_text;
  if (shared) {
    d.reason = ReasonCode::kHostMismatch;
    d.detail = "several names of the task have this address, and the connection names none of them";
    auto refusing = refuse_unclassified(client, d);
    co_return co_await std::move(refusing);
  }
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
