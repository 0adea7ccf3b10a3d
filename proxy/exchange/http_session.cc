#include "proxy/exchange/http_session.h"

#include "policies/engine/path.h"
#include "proxy/exchange/connect.h"
#include "proxy/exchange/dns_over_https.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/form_body.h"
#include "proxy/local/internal_pages.h"

namespace sallyport::proxy {
namespace {

using policy::ReasonCode;

constexpr Port kHttpPort = Port::of(80);

policy::Target target_of(const http::Authority& authority) {
  if (const IpAddress* address = authority.address()) return *address;
  return *authority.name();
}

bool asks_for_websocket(const http::Fields& fields) {
  for (auto field : fields)
    if (field.id == http::FieldId::kUpgrade && contains_ignoring_case(field.value, "websocket")) return true;
  return false;
}

}  // namespace

Decision HttpSession::decision(ReasonCode reason) const {
  Decision d;
  d.layer = Layer::kHttp;
  d.form = client_.form();
  d.connection = client_.id();
  d.reason = reason;
  if (target_) {
    d.target = &*target_;
    d.port = port_;
  } else if (origin_) {  // a request that could not be read was for whom its connection is
    d.target = &origin_->target;
    d.port = origin_->port.value();
  }
  d.method = head_.method;
  d.path = head_.path;
  return d;
}

Awaitable<bool> HttpSession::refuse(ReasonCode reason, std::uint16_t status, std::string detail, bool close) {
  auto d = decision(reason);
  d.detail = detail;
  HttpAnswer answer{status, head_.minor, head_.method == "HEAD", !close && head_.keep_alive && !head_.body.has_body()};
  auto refusing = refuse_http(client_, d, answer);
  co_return co_await std::move(refusing);
}

Awaitable<bool> HttpSession::next_head() {
  http::Limits limits;
  auto& input = client_.input();
  auto wait = first_ ? Clock::duration(ClientConnection::kHeaderTime) : Clock::duration(ClientConnection::kKeepAliveTime);
  client_.expect_until(Deadline::after(wait), Expired::kIdle);
  if (input.empty()) {
    auto reading = client_.read_more();
    auto got = co_await std::move(reading);
    if (!got || got.value() == 0) co_return false;
  }
  client_.expect_until(Deadline::after(ClientConnection::kHeaderTime), Expired::kHeader);
  target_.reset();
  for (;;) {
    auto parsed = http::parse_request_head(input.view(), limits, head_);
    if (parsed.state == http::ParseState::kDone) {
      // The views stay valid: consuming moves nothing, and nothing is read before the request has been written on.
      input.consume(parsed.consumed);
      co_return true;
    }
    if (parsed.state == http::ParseState::kRefused) {
      auto reason = parsed.status == 421 ? ReasonCode::kHostMismatch : ReasonCode::kMalformed;
      head_ = {};
      auto refusing = refuse(reason, parsed.status, parsed.reason, true);
      co_await std::move(refusing);
      co_return false;
    }
    auto reading = client_.read_more();
    auto got = co_await std::move(reading);
    if (!got || got.value() == 0) co_return false;
  }
}

Awaitable<void> HttpSession::run() {
  for (;;) {
    auto reading = next_head();
    if (!co_await std::move(reading)) co_return;
    auto answering = answer();
    if (!co_await std::move(answering)) co_return;
    first_ = false;
  }
}

Awaitable<bool> HttpSession::answer() {
  if (head_.is_connect()) {
    if (origin_ || !first_) {
      auto refusing = refuse(ReasonCode::kMalformed, 501, "CONNECT is served only as the first request to the explicit proxy", true);
      co_return co_await std::move(refusing);
    }
    auto connecting = handle_connect(client_, head_);
    co_await std::move(connecting);
    co_return false;
  }
  if (head_.form == http::TargetForm::kAsterisk) {
    auto refusing = refuse(ReasonCode::kMalformed, 400, "OPTIONS * is not served", true);
    co_return co_await std::move(refusing);
  }
  Origin asked{target_of(*head_.authority), head_.authority->port_or(kHttpPort)};
  target_ = asked.target;
  port_ = asked.port.value();
  if (!origin_) {
    bool internal = is_internal(asked);
    if (head_.form != http::TargetForm::kAbsolute && !internal) {
      auto refusing = refuse(ReasonCode::kMalformed, 400, "a request to a proxy names its target whole: http://host/path", true);
      co_return co_await std::move(refusing);
    }
  } else if (head_.form == http::TargetForm::kAbsolute) {
    auto refusing = refuse(ReasonCode::kMalformed, 400, "an absolute-form target belongs to the explicit proxy", true);
    co_return co_await std::move(refusing);
  } else if (asked.target != origin_->target || asked.port != origin_->port) {
    auto refusing = refuse(ReasonCode::kHostMismatch, 421, "the connection is for " + origin_->target.authority(origin_->port), true);
    co_return co_await std::move(refusing);
  }
  auto answering = answer_for(std::move(asked));
  co_return co_await std::move(answering);
}

bool HttpSession::is_internal(const Origin& origin) const {
  const HostName* name = origin.target.host();
  return name != nullptr && name->text() == kInternalHost && origin.port == kHttpPort;
}

Awaitable<bool> HttpSession::answer_for(Origin origin) {
  if (is_internal(origin)) {
    auto answering = answer_internal(client_, head_);
    co_return co_await std::move(answering);
  }
  std::string raw(head_.path);
  if (head_.has_query) raw += "?" + std::string(head_.query);
  auto wire = policy::CanonicalTarget::parse(raw);
  if (!wire) {
    auto refusing = refuse(ReasonCode::kMalformed, 400, wire.error().detail, true);
    co_return co_await std::move(refusing);
  }
  policy::MethodOverrides overrides;
  policy::ContentType body;
  body.set_body(head_.body.has_body());
  for (auto field : head_.fields) {
    overrides.see(field.name, field.value);
    body.see(field.name, field.value);
  }
  auto policy = client_.task().policy_snapshot();  // verdicts borrow from it
  auto verdict = client_.task().decide_http({origin.target, origin.port, head_.method, wire.value().path, wire.value().query, overrides, body});
  auto d = decision(verdict.reason);
  d.rule = verdict.rule;
  d.nearest = verdict.nearest;
  HttpAnswer answer{0, head_.minor, head_.method == "HEAD", head_.keep_alive && !head_.body.has_body()};
  if (!verdict.allowed()) {
    auto refusing = refuse_http(client_, d, answer);
    co_return co_await std::move(refusing);
  }
  if (is_dns_over_https(head_.fields, wire.value().query)) {
    d.reason = ReasonCode::kDnsOverHttps;
    auto refusing = refuse_http(client_, d, answer);
    co_return co_await std::move(refusing);
  }
  if (asks_for_websocket(head_.fields)) {
    // No rule can allow it yet; without the upgrade the request would be another than the client meant (policy-013).
    d.reason = ReasonCode::kUpgradeRefused;
    auto refusing = refuse_http(client_, d, answer);
    co_return co_await std::move(refusing);
  }
  auto limits = client_.task().limits(verdict.destination->rule());
  auto taking = limits.take(Resource::kRequests, 1);
  auto taken = co_await std::move(taking);
  if (taken.amount == 0) {
    client_.task().limit_reached("requests", taken.rule_limit ? static_cast<int>(verdict.destination->rule().index) : -1);
    d.reason = ReasonCode::kBudgetRequests;
    auto refusing = refuse_http(client_, d, answer);
    co_return co_await std::move(refusing);
  }
  auto recorded = client_.task().record(d);
  if (!recorded) {
    auto refusing = refuse(ReasonCode::kAuditUnavailable, 503, recorded.error().detail, true);
    co_return co_await std::move(refusing);
  }
  Exchange exchange(client_, verdict, head_, wire.value().wire(), std::move(recorded.value().id));
  auto running = exchange.run();
  co_return co_await std::move(running);
}

}  // namespace sallyport::proxy
