#include "proxy/exchange/connect.h"

#include "proxy/exchange/http_session.h"
#include "proxy/local/internal_pages.h"
#include "proxy/tunnel/tunnel.h"

namespace sallyport::proxy {
namespace {

using policy::ReasonCode;

constexpr std::string_view kEstablished = "HTTP/1.1 200 Connection Established\r\n\r\n";

struct ConnectRequest {
  policy::Target target;
  Port port;
  std::uint8_t minor;
};

Decision connect_decision(const ClientConnection& client, const ConnectRequest& request, ReasonCode reason) {
  Decision d;
  d.layer = Layer::kConnect;
  d.form = client.form();
  d.connection = client.id();
  d.reason = reason;
  d.target = &request.target;
  d.port = request.port.value();
  d.method = "CONNECT";
  return d;
}

Awaitable<void> refuse(ClientConnection& client, Decision d, std::uint16_t status, std::uint8_t minor) {
  auto refusing = refuse_http(client, d, HttpAnswer{status, minor, false, false});
  co_await std::move(refusing);
}

Awaitable<void> serve_http_inside(ClientConnection& client, ConnectRequest request) {
  auto writing = client.stream().write_all(kEstablished);
  auto written = co_await std::move(writing);
  if (!written) co_return;
  HttpSession session(client, Origin{request.target, request.port});
  auto serving = session.run();
  co_await std::move(serving);
}

Awaitable<void> serve_tunnel(ClientConnection& client, ConnectRequest request, policy::ApprovedDestination destination, Decision d) {
  auto opening = open_upstream(client, destination);
  auto opened = co_await std::move(opening);
  if (!opened.connection) {
    d.reason = opened.failure.reason;
    d.detail = opened.failure.detail;
    auto refusing = refuse(client, d, 0, request.minor);
    co_return co_await std::move(refusing);
  }
  client.set_upstream(opened.connection->stream.get());
  auto writing = client.stream().write_all(kEstablished);
  auto written = co_await std::move(writing);
  bool ready = written.has_value();
  if (ready && destination.treatment() == policy::Treatment::kTlsTunnel) {
    auto checking = check_client_hello(client, destination);
    ready = co_await std::move(checking);
  }
  if (!ready) {
    client.set_upstream(nullptr);
    co_return;
  }
  auto running = run_tunnel(client, destination, std::move(opened.connection));
  co_await std::move(running);
}

}  // namespace

Awaitable<void> handle_connect(ClientConnection& client, const http::RequestHead& head) {
  ConnectRequest request{target_of(*head.authority), *head.authority->port(), head.minor};
  auto d = connect_decision(client, request, ReasonCode::kMalformed);
  if (head.body.kind != http::FramingKind::kNone) {
    d.detail = "CONNECT has no body";
    auto refusing = refuse(client, d, 400, request.minor);
    co_return co_await std::move(refusing);
  }
  const HostName* name = request.target.host();
  if (name != nullptr && name->text() == kInternalHost && request.port == Port::of(80)) {
    auto serving = serve_http_inside(client, request);
    co_return co_await std::move(serving);
  }
  auto policy = client.task().policy_snapshot();  // the verdict borrows from it
  auto verdict = client.task().decide_connection({request.target, request.port});
  d.reason = verdict.reason;
  d.rule = verdict.rule;
  d.nearest = verdict.nearest;
  if (!verdict.allowed()) {
    auto refusing = refuse(client, d, 0, request.minor);
    co_return co_await std::move(refusing);
  }
  auto recorded = client.task().record(d);
  if (!recorded) {
    d.reason = ReasonCode::kAuditUnavailable;
    auto refusing = refuse(client, d, 0, request.minor);
    co_return co_await std::move(refusing);
  }
  if (verdict.treatment == policy::Treatment::kHttp) {
    auto serving = serve_http_inside(client, request);
    co_return co_await std::move(serving);
  }
  auto serving = serve_tunnel(client, request, *verdict.destination, d);
  co_await std::move(serving);
}

}  // namespace sallyport::proxy
