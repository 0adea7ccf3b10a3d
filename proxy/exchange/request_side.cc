// Exchange, the way to the upstream: connection, head, body.
#include "core/http/writer.h"
#include "proxy/exchange/exchange.h"

namespace sallyport::proxy {

using policy::ReasonCode;

Exchange::Exchange(ClientConnection& client, const policy::HttpVerdict& verdict, const http::RequestHead& head,
                   const policy::CanonicalTarget& target, std::string decision_id, ExchangeBuffers& buffers)
    : client_(client), task_(client.task()), destination_(*verdict.destination),
      limits_(client.task().limits(destination_.rule())), method_(buffers.method), target_(buffers.target),
      decision_id_(buffers.decision_id), client_minor_(head.minor), client_keep_alive_(head.keep_alive), request_body_(head.body),
      had_body_(head.body.has_body()), request_text_(buffers.request), body_ended_(client.task().services().executor),
      response_(buffers.response), out_(buffers.answer) {
  method_ = head.method;
  target_ = target.wire();
  decision_id_ = std::move(decision_id);
  request_text_.clear();
  out_.clear();
  if (verdict.limits_methods && head.body.has_body()) form_ = form_body(head.fields);
  asks_continue_ = form_ != FormBody::kNo && head.expect_continue;
  auto written = write_head(head);
  if (!written) fault_ = Fault{ReasonCode::kMalformed, written.error().detail};
  body_done_ = !request_body_.has_body();
}

Result<void> Exchange::write_head(const http::RequestHead& head) {
  http::Host host = destination_.target().is_literal() ? http::Host(*destination_.target().address())
                                                       : http::Host(*destination_.target().host());
  http::Authority authority(std::move(host), destination_.port());
  http::UpstreamRequest request;
  request.method = method_;
  request.target = target_;
  request.authority = &authority;
  request.fields = &head.fields;
  request.body = request_body_;
  request.expect_continue = head.expect_continue && !asks_continue_;
  return http::write_request_head(request_text_, request);
}

// A form may name another method than the request line (policy-006). It is read whole first: half a form has been acted on.
Awaitable<bool> Exchange::check_form() {
  if (form_ == FormBody::kNo) co_return true;
  if (form_ == FormBody::kEncoded) co_return fail_with(ReasonCode::kMethodOverride, "a form that is compressed cannot be checked for _method");
  if (request_body_.kind != http::FramingKind::kLength || request_body_.length > kMaxForm)
    co_return fail_with(ReasonCode::kMethodOverride, "where the rule limits methods a form must state its length and be at most 64 KiB");
  auto& input = client_.input();
  if (asks_continue_ && input.empty()) {
    auto writing = client_.stream().write_all("HTTP/1.1 100 Continue\r\n\r\n");
    auto written = co_await std::move(writing);
    if (!written) co_return false;
  }
  while (input.size() < request_body_.length) {
    auto reading = client_.read_more();
    auto got = co_await std::move(reading);
    if (!got || got.value() == 0) co_return false;
    touch();
  }
  if (policy::names_method_key(input.view().substr(0, static_cast<std::size_t>(request_body_.length))))
    co_return fail_with(ReasonCode::kMethodOverride, "the form names a method");
  co_return true;
}

bool Exchange::reserve_upload_now() {
  if (request_body_.has_body()) return false;
  std::uint64_t want = request_text_.size();
  if (limits_.on_hand(Resource::kUpload) < want) return false;
  reserved_up_ = limits_.take_now(Resource::kUpload, want);
  return true;
}

// A body of stated length is reserved whole, so that one that cannot fit is refused before anything is dialled (budget-002).
Awaitable<bool> Exchange::reserve_upload() {
  std::uint64_t want = request_text_.size();
  if (request_body_.kind == http::FramingKind::kLength) {
    want += request_body_.length;
    if (want < request_body_.length) co_return fail_with(ReasonCode::kMalformed, "the stated length is too large");
  }
  auto taking = limits_.take_all(Resource::kUpload, want);
  auto taken = co_await std::move(taking);
  if (taken.amount == 0) {
    reach_limit(Resource::kUpload, taken.rule_limit);
    co_return false;
  }
  reserved_up_ = want;
  co_return true;
}

bool Exchange::take_kept_connection() {
  // Who connected to one true address of a name is served by that one.
  upstream_ = task_.pool().take(destination_, client_.dial_only());
  // One whose time is over does not serve another request.
  if (upstream_ && task_.connection_deadline(destination_.rule(), upstream_->dialled_at).passed(Clock::now())) upstream_.reset();
  return upstream_ != nullptr;
}

Awaitable<bool> Exchange::dial() {
  auto opening = open_upstream(client_, destination_);
  auto opened = co_await std::move(opening);
  if (!opened.connection) co_return fail_with(opened.failure.reason, std::move(opened.failure.detail));
  upstream_ = std::move(opened.connection);
  co_return true;
}

void Exchange::use_connection() noexcept {
  client_.set_upstream(upstream_->stream.get());
  client_.end_at(task_.connection_deadline(destination_.rule(), upstream_->dialled_at), ClientConnection::Ends::kUpstream);
}

// What was handed to the kernel may have left: it stays charged.
void Exchange::charge_upload(std::size_t size) noexcept {
  reserved_up_ -= std::min<std::uint64_t>(reserved_up_, size);
  up_ += size;
}

Awaitable<bool> Exchange::to_upstream(std::string_view data) {
  charge_upload(data.size());
  auto writing = upstream_->stream->write_all(data);
  auto written = co_await std::move(writing);
  // What is only read to be dropped has a short deadline of its own, which must not move.
  if (!discard_body_) touch();
  co_return written.has_value();
}

// The head, and with it what has already arrived of a body of stated length. True once all of it has gone out.
bool Exchange::send_head_now() {
  auto& input = client_.input();
  std::string_view body;
  if (request_body_.kind == http::FramingKind::kLength)
    body = input.view().substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(request_body_.length, input.size())));
  auto sent = upstream_->stream->write_now(request_text_, body);
  head_sent_ = std::min(sent, request_text_.size());
  take_body(sent - head_sent_);
  charge_upload(sent);
  return head_sent_ == request_text_.size() && sent == request_text_.size() + body.size();
}

void Exchange::take_body(std::size_t size) {
  request_body_.length -= size;
  client_.input().consume(size);
  if (request_body_.kind == http::FramingKind::kLength && request_body_.length == 0) body_done_ = true;
}

// The body, if some of it is here, goes on as any body does.
Awaitable<bool> Exchange::send_rest_of_head() {
  auto sending = to_upstream(std::string_view(request_text_).substr(head_sent_));
  bool sent = co_await std::move(sending);
  head_sent_ = request_text_.size();
  co_return sent;
}

Awaitable<bool> Exchange::pump_length() {
  auto& input = client_.input();
  while (request_body_.length > 0) {
    if (input.empty()) {
      auto reading = client_.read_more();
      auto got = co_await std::move(reading);
      if (!got || got.value() == 0) co_return false;
    }
    auto data = input.view().substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(request_body_.length, input.size())));
    if (!discard_body_) {
      auto sending = to_upstream(data);
      if (!co_await std::move(sending)) discard_body_ = true;  // it may have answered early: the response tells
    }
    request_body_.length -= data.size();
    input.consume(data.size());
  }
  co_return true;
}

Awaitable<bool> Exchange::send_chunk(std::string_view data) {
  std::string text(http::ChunkPrefix(data.size()).text());
  text += data;
  text += http::kChunkEnd;
  auto taking = limits_.take_all(Resource::kUpload, text.size());
  auto taken = co_await std::move(taking);
  if (taken.amount == 0) {
    // Up to the last byte of the budget, then no further: the upstream sees a body that never ends.
    auto rest = limits_.take(Resource::kUpload, text.size());
    auto last = co_await std::move(rest);
    if (last.amount > 0) {
      auto sending = to_upstream(std::string_view(text).substr(0, last.amount));
      co_await std::move(sending);
    }
    reach_limit(Resource::kUpload, taken.rule_limit);
    upstream_->stream->abort(net::CloseReason::kReset);
    co_return false;
  }
  if (discard_body_) {  // decided while this waited
    limits_.put_back(Resource::kUpload, taken.amount);
    co_return true;
  }
  reserved_up_ += text.size();
  auto sending = to_upstream(text);
  if (!co_await std::move(sending)) discard_body_ = true;
  co_return true;
}

Awaitable<bool> Exchange::pump_chunked() {
  auto& input = client_.input();
  http::ChunkDecoder decoder;
  for (;;) {
    auto step = decoder.decode(input.view());
    if (step.state == http::ChunkDecoder::State::kRefused) {
      fail_with(ReasonCode::kMalformed, step.reason);
      upstream_->stream->abort(net::CloseReason::kReset);
      co_return false;
    }
    if (step.state == http::ChunkDecoder::State::kData && !discard_body_) {
      auto sending = send_chunk(step.data);
      if (!co_await std::move(sending)) co_return false;
    }
    input.consume(step.consumed);
    if (step.state == http::ChunkDecoder::State::kDone) break;
    if (step.state == http::ChunkDecoder::State::kData) continue;
    auto reading = client_.read_more();
    auto got = co_await std::move(reading);
    if (!got || got.value() == 0) co_return false;
  }
  if (discard_body_) co_return true;
  auto taking = limits_.take_all(Resource::kUpload, http::kLastChunk.size());
  auto taken = co_await std::move(taking);
  if (taken.amount == 0) {
    reach_limit(Resource::kUpload, taken.rule_limit);
    upstream_->stream->abort(net::CloseReason::kReset);
    co_return false;
  }
  if (discard_body_) {
    limits_.put_back(Resource::kUpload, taken.amount);
    co_return true;
  }
  reserved_up_ += http::kLastChunk.size();
  auto sending = to_upstream(http::kLastChunk);
  if (!co_await std::move(sending)) discard_body_ = true;
  co_return true;
}

Awaitable<void> Exchange::pump_body() {
  if (request_body_.kind == http::FramingKind::kLength) {
    auto pumping = pump_length();
    body_done_ = co_await std::move(pumping);
  } else {
    auto pumping = pump_chunked();
    body_done_ = co_await std::move(pumping);
  }
  // A client that went away in the middle of its body has no use for a response, and the upstream must not take the part for the whole.
  if (!body_done_ && !fault_ && !discard_body_) client_.abort_both();
}

Awaitable<void> Exchange::pump_body_then_tell() {
  auto pumping = pump_body();
  co_await std::move(pumping);
  body_joined_ = true;
  body_ended_.notify_all();
}

// An answer that came before the end of the body: what still arrives is read and dropped for a moment, so that the client
// gets to see the answer, and the connection ends.
Awaitable<void> Exchange::join_body() {
  discard_body_ = true;
  client_.stream().shutdown_write();
  client_.expect_until(Deadline::after(std::chrono::seconds(2)), Expired::kIdle);
  while (!body_joined_) {
    auto wait = body_ended_.wait();
    co_await std::move(wait);
  }
}

}  // namespace sallyport::proxy
