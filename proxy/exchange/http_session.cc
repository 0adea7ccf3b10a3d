#include "proxy/exchange/http_session.h"

#include "policies/engine/path.h"
#include "proxy/client/first_bytes.h"
#include "proxy/exchange/connect.h"
#include "proxy/exchange/dns_over_https.h"
#include "proxy/exchange/form_body.h"
#include "proxy/local/internal_pages.h"

namespace sallyport::proxy {
namespace {

using policy::ReasonCode;

constexpr Port kHttpPort = Port::of(80);
constexpr auto kAnswerTime = std::chrono::seconds(5);  // to take the answer that ends a connection

bool asks_for_websocket(const http::Fields& fields) {
  for (auto field : fields)
    if (field.id == http::FieldId::kUpgrade && contains_ignoring_case(field.value, "websocket")) return true;
  return false;
}

}  // namespace

policy::Target target_of(const http::Authority& authority) {
  if (const IpAddress* address = authority.address()) return *address;
  return *authority.name();
}

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
  client_.expect_until(Deadline::after(ClientConnection::kHeaderTime), Expired::kHeader, ClientConnection::Ends::kInput);
  target_.reset();
  for (;;) {
    auto parsed = http::parse_request_head(input.view(), limits, head_);
    if (parsed.state == http::ParseState::kDone) {
      // The views stay valid: consuming moves nothing, and nothing is read before the request has been written on.
      input.consume(parsed.consumed);
      client_.input_complete();
      co_return true;
    }
    if (parsed.state == http::ParseState::kRefused) {
      auto reason = reason_of(parsed);
      forget_head();
      auto refusing = refuse(reason, parsed.status, parsed.reason, true);
      co_await std::move(refusing);
      co_return false;
    }
    auto reading = client_.read_more();
    auto got = co_await std::move(reading);
    if (client_.expired() == Expired::kHeader) {
      forget_head();
      client_.expect_until(Deadline::after(kAnswerTime), Expired::kIdle);
      auto refusing = refuse(ReasonCode::kClassificationTimeout, 408, "the head of a request has 30 seconds from its first byte", true);
      co_await std::move(refusing);
      co_return false;
    }
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

void HttpSession::forget_head() { head_ = {}; }

ReasonCode HttpSession::reason_of(const http::ParseResult& refused) {
  if (refused.status == 421) return ReasonCode::kHostMismatch;
  bool other = first_ && classify(client_.input().view()) != Looks::kHttp;
  return other ? ReasonCode::kNotHttp : ReasonCode::kMalformed;
}

// What the policy says of the request at hand, and what it was: kept for as long as it is served.
Result<void> HttpSession::judge() {
  if (!work_) work_ = std::make_unique<Work>();
  std::string& raw = work_->buffers.target;
  raw = head_.path;
  if (head_.has_query) raw.append("?").append(head_.query);
  BOOST_OUTCOME_TRY(auto target, policy::CanonicalTarget::parse(raw));
  work_->target = std::move(target);
  policy::MethodOverrides overrides;
  policy::ContentType type;
  for (auto field : head_.fields) {
    overrides.see(field.name, field.value);
    type.see(field.name, field.value);
  }
  type.set_body(head_.body.has_body());
  work_->policy = client_.task().policy_snapshot();
  work_->verdict = client_.task().decide_http(
      {*target_, Port::of(port_), head_.method, work_->target->path, work_->target->query, overrides, type});
  return success();
}

Awaitable<bool> HttpSession::refuse_judged(ReasonCode reason) {
  auto d = decision(reason);
  d.rule = work_->verdict.rule;
  d.nearest = work_->verdict.nearest;
  HttpAnswer answer{0, head_.minor, head_.method == "HEAD", head_.keep_alive && !head_.body.has_body()};
  auto refusing = refuse_http(client_, d, answer);
  co_return co_await std::move(refusing);
}

// Why what the policy allows cannot be served all the same.
std::optional<ReasonCode> HttpSession::unserved() const {
  if (is_dns_over_https(head_.fields, work_->target->query)) return ReasonCode::kDnsOverHttps;
  // No rule can allow it yet; without the upgrade the request would be another than the client meant (policy-013).
  if (asks_for_websocket(head_.fields)) return ReasonCode::kUpgradeRefused;
  return std::nullopt;
}

Result<RecordedDecision> HttpSession::record_judged() {
  auto d = decision(ReasonCode::kAllowed);
  d.rule = work_->verdict.rule;
  d.nearest = work_->verdict.nearest;
  return client_.task().record(d);
}

Awaitable<bool> HttpSession::answer_judged() {
  const auto& rule = work_->verdict.destination->rule();
  auto limits = client_.task().limits(rule);
  Taken taken{limits.take_now(Resource::kRequests, 1), false};
  if (taken.amount == 0) {
    auto taking = limits.take(Resource::kRequests, 1);
    taken = co_await std::move(taking);
  }
  if (taken.amount == 0) {
    client_.task().limit_reached("requests", taken.rule_limit ? static_cast<int>(rule.index) : -1);
    auto refusing = refuse_judged(ReasonCode::kBudgetRequests);
    co_return co_await std::move(refusing);
  }
  auto recorded = record_judged();
  if (!recorded) {
    limits.put_back(Resource::kRequests, 1);
    auto refusing = refuse(ReasonCode::kAuditUnavailable, 503, recorded.error().detail, true);
    co_return co_await std::move(refusing);
  }
  auto& exchange = work_->exchange.emplace(client_, work_->verdict, head_, *work_->target, std::move(recorded.value().id), work_->buffers);
  auto running = exchange.run();
  bool usable = co_await std::move(running);
  work_->exchange.reset();
  work_->buffers.shrink();
  co_return usable;
}

Awaitable<bool> HttpSession::answer_for(Origin origin) {
  if (is_internal(origin)) {
    auto answering = answer_internal(client_, head_);
    co_return co_await std::move(answering);
  }
  if (auto judged = judge(); !judged) {
    auto refusing = refuse(ReasonCode::kMalformed, 400, judged.error().detail, true);
    co_return co_await std::move(refusing);
  }
  auto reason = work_->verdict.reason;
  if (work_->verdict.allowed()) reason = unserved().value_or(reason);
  if (reason != ReasonCode::kAllowed) {
    auto refusing = refuse_judged(reason);
    co_return co_await std::move(refusing);
  }
  auto answering = answer_judged();
  co_return co_await std::move(answering);
}

}  // namespace sallyport::proxy
