// Exchange, from end to end: order of the steps, retry, limits, failure, accounting.
#include "proxy/exchange/exchange.h"

#include <algorithm>

namespace sallyport::proxy {

using audit::FieldId;
using policy::ReasonCode;

bool Exchange::fail_with(ReasonCode reason, std::string detail) {
  if (!fault_) fault_ = Fault{reason, std::move(detail)};
  return false;
}

void Exchange::reach_limit(Resource resource, bool rule_limit) {
  fail_with(resource == Resource::kUpload ? ReasonCode::kBudgetUpload : ReasonCode::kBudgetDownload);
  task_.limit_reached(to_string(resource), rule_limit ? static_cast<int>(destination_.rule().index) : -1);
}

void Exchange::touch() noexcept {
  auto now = Clock::now();
  Clock::duration idle = task_.idle_limit().value_or(ClientConnection::kIdleTime);
  if (now - touched_ < std::min<Clock::duration>(std::chrono::milliseconds(500), idle / 8)) return;
  touched_ = now;
  client_.expect_until(Deadline(now + idle), Expired::kIdle);
}

// A kept-alive connection may have been closed by the upstream just as it was used; nothing has then been done there for sure.
bool Exchange::may_retry() const noexcept {
  bool safe = method_ == "GET" || method_ == "HEAD" || method_ == "OPTIONS";
  return upstream_ && upstream_->reused && !upstream_spoke_ && safe && !had_body_ && fault_ &&
         fault_->reason == ReasonCode::kUpstreamClosed && client_.expired() == Expired::kNothing;
}

Awaitable<bool> Exchange::exchange_once() {
  // Nothing of an earlier answer, which may have been cut in the middle of its head.
  response_.cursor.reset();
  response_.status = 0;
  response_.reason = {};
  if (!take_kept_connection()) {
    auto dialling = dial();
    if (!co_await std::move(dialling)) co_return false;
  }
  use_connection();
  // A failed write is no answer yet: the upstream may have answered before it closed, and reading tells.
  if (!send_head_now()) {
    auto sending = send_rest_of_head();
    (void)co_await std::move(sending);
  }
  if (!body_done_) {
    body_joined_ = false;
    if (auto spawned = task_.scope().spawn(pump_body_then_tell()); !spawned) {
      body_joined_ = true;
      co_return fail_with(ReasonCode::kOverloaded, spawned.error().detail);
    }
  }
  auto reading = read_response_head();
  if (!co_await std::move(reading)) co_return false;
  auto relaying = relay_response();
  co_return co_await std::move(relaying);
}

Awaitable<bool> Exchange::prepare_retry() {
  fault_.reset();
  client_.set_upstream(nullptr);
  upstream_.reset();
  task_.pool().clear();  // its neighbours are as old
  auto taking = limits_.take_all(Resource::kUpload, request_text_.size());
  auto taken = co_await std::move(taking);
  if (taken.amount == 0) {
    reach_limit(Resource::kUpload, taken.rule_limit);
    co_return false;
  }
  reserved_up_ += taken.amount;
  co_return true;
}

// Before anything goes upstream: what may wait for the client or for the ledger.
Awaitable<bool> Exchange::prepare() {
  auto checking = check_form();
  if (!co_await std::move(checking)) co_return false;
  auto reserving = reserve_upload();
  co_return co_await std::move(reserving);
}

Awaitable<bool> Exchange::attempt() {
  touch();
  if (form_ != FormBody::kNo || !reserve_upload_now()) {
    auto preparing = prepare();
    if (!co_await std::move(preparing)) co_return false;
  }
  auto exchanging = exchange_once();
  if (co_await std::move(exchanging)) co_return true;
  if (!may_retry()) co_return false;
  auto preparing = prepare_retry();
  if (!co_await std::move(preparing)) co_return false;
  auto again = exchange_once();
  co_return co_await std::move(again);
}

Awaitable<bool> Exchange::run() {
  bool done = false;
  if (!fault_) {
    auto attempting = attempt();
    done = co_await std::move(attempting);
  }
  bool usable = false;
  if (!done) {
    // Said first: joining the body ends the way to the client.
    auto refusing = refuse();
    usable = co_await std::move(refusing);
  }
  if (!body_joined_) {
    auto joining = join_body();
    co_await std::move(joining);
  }
  client_.set_upstream(nullptr);
  client_.end_at(Deadline::never());
  account();
  if (!done) {
    upstream_.reset();
    co_return usable;
  }
  if (response_.keep_alive && body_done_ && !discard_body_ && !download_cut_) task_.pool().give_back(std::move(upstream_));
  co_return client_keep_alive_ && body_done_;
}

// Once a byte of the response has gone out there is nothing left to say but a reset.
Awaitable<bool> Exchange::refuse() {
  if (client_.expired() == Expired::kDuration) {
    fault_ = Fault{ReasonCode::kBudgetDuration, {}};
    task_.limit_reached("connections.duration", task_.duration_owner(destination_.rule()));
  } else if (client_.expired() == Expired::kIdle) {
    fault_ = Fault{ReasonCode::kIdle, {}};
  }
  auto fault = fault_.value_or(Fault{ReasonCode::kUpstreamClosed, "the client or the upstream went away"});
  if (answering_ || !fault_) {
    if (!recorded_) (void)record_request(policy::to_string(fault.reason));
    client_.abort_both();
    co_return false;
  }
  // Nothing more of a body goes upstream; what the client still sends of it is read and dropped by the coroutine that does so already.
  discard_body_ = discard_body_ || !body_joined_;
  if (upstream_) upstream_->stream->abort(net::CloseReason::kReset);
  release_reserved();  // who hears of the failure may ask again at once
  if (!recorded_ && (up_ > 0 || down_ > 0)) (void)record_request(policy::to_string(fault.reason));  // what was used is on file all the same
  Decision d;
  d.layer = Layer::kHttp;
  d.form = client_.form();
  d.connection = client_.id();
  d.reason = fault.reason;
  d.rule = destination_.rule();
  d.target = &destination_.target();
  d.port = destination_.port().value();
  d.method = method_;
  d.path = target_;
  d.detail = fault.detail;
  HttpAnswer answer{0, client_minor_, method_ == "HEAD", client_keep_alive_ && body_done_ && !discard_body_, body_joined_};
  auto refusing = refuse_http(client_, d, answer);
  co_return co_await std::move(refusing);
}

void ExchangeBuffers::shrink() noexcept {
  for (std::string* text : {&method, &target, &decision_id, &request, &answer})
    if (text->capacity() > kKept) *text = std::string();
}

void Exchange::begin_answer() noexcept {
  answering_ = true;
  client_.end_both();
}

void Exchange::release_reserved() noexcept {
  limits_.put_back(Resource::kUpload, reserved_up_);
  reserved_up_ = 0;
}

void Exchange::account() noexcept {
  release_reserved();
  auto& use = task_.destinations().of(destination_.target(), destination_.port());
  ++use.requests;
  use.bytes_up += up_;
  use.bytes_down += down_;
}

Result<audit::Sequence> Exchange::record_request(std::string_view error) {
  auto duration = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started_).count();
  audit::RecordBuilder r(audit::RecordKind::kRequest, task_.id());
  r.text(FieldId::kDecisionId, decision_id_).number(FieldId::kConnectionId, client_.id());
  r.text(FieldId::kRule, destination_.rule().id).text(FieldId::kMethod, method_).text(FieldId::kPath, target_);
  std::string address;
  r.text(FieldId::kNameUsed, destination_.target().text(address)).number(FieldId::kPort, destination_.port().value());
  if (upstream_) r.text(FieldId::kAddressDialled, upstream_->address);
  r.number(FieldId::kStatus, response_.status).number(FieldId::kBytesUp, up_).number(FieldId::kBytesDown, down_);
  r.number(FieldId::kDurationUs, static_cast<std::uint64_t>(duration));
  if (!error.empty()) r.text(FieldId::kError, error);
  return task_.services().recorder.append(r);
}

}  // namespace sallyport::proxy
