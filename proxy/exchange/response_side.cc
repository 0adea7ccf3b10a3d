// Exchange, the way back: response head, body, and the last byte that waits for the audit log.
#include "core/http/writer.h"
#include "proxy/exchange/exchange.h"

namespace sallyport::proxy {
namespace {

constexpr int kMaxInterim = 8;
constexpr std::size_t kReadAhead = 64 * 1024;
constexpr std::size_t kCopied = 2048;

}  // namespace

using policy::ReasonCode;

// What has been read is paid for before it counts as read, and only as far as the allowance reaches; the rest is dropped here and the
// next read fails. Paying before reading would hold allowance, for what is yet to come, that others need whose answer is here.
Awaitable<Result<std::size_t>> Exchange::read_upstream() {
  auto& input = upstream_->input;
  if (download_cut_) co_return fail(ErrorKind::kDenied, "the download budget is used up");
  if (input.full()) co_return fail(ErrorKind::kOverloaded, "the response head is too large");
  auto room = input.room();
  auto reading = upstream_->stream->read_some(room.first(std::min(room.size(), kReadAhead)));
  auto got = co_await std::move(reading);
  if (!got || got.value() == 0) co_return got;
  upstream_spoke_ = true;
  touch();
  auto count = limits_.take_now(Resource::kDownload, got.value());
  while (count < got.value()) {
    auto taking = limits_.take(Resource::kDownload, got.value() - count);
    auto taken = co_await std::move(taking);
    count += taken.amount;
    if (taken.amount > 0) continue;
    download_cut_ = true;
    reach_limit(Resource::kDownload, taken.rule_limit);
    if (count == 0) co_return fail(ErrorKind::kDenied, "the download budget is used up");
    break;
  }
  input.filled(count);
  down_ += count;
  co_return count;
}

Awaitable<bool> Exchange::read_response_head() {
  http::Limits limits;
  http::ResponseContext context{method_, false};
  for (int interim = 0; interim <= kMaxInterim;) {
    auto parsed = http::parse_response_head(upstream_->input.view(), limits, context, response_);
    if (parsed.state == http::ParseState::kRefused) co_return fail_with(ReasonCode::kUpstreamMalformed, parsed.reason);
    if (parsed.state == http::ParseState::kIncomplete) {
      auto reading = read_upstream();
      auto got = co_await std::move(reading);
      if (got && got.value() > 0) continue;
      if (fault_) co_return false;
      if (got) co_return fail_with(ReasonCode::kUpstreamClosed, "the upstream closed before a response");
      if (got.error().kind == ErrorKind::kOverloaded) co_return fail_with(ReasonCode::kUpstreamMalformed, got.error().detail);
      co_return fail_with(ReasonCode::kUpstreamClosed, got.error().detail);
    }
    upstream_->input.consume(parsed.consumed);
    if (!response_.is_interim()) co_return true;
    ++interim;
    auto passing = pass_interim();
    if (!co_await std::move(passing)) co_return false;
  }
  co_return fail_with(ReasonCode::kUpstreamMalformed, "too many interim responses");
}

Awaitable<bool> Exchange::pass_interim() {
  if (client_minor_ == 0) co_return true;
  http::ClientResponse interim;
  interim.status = response_.status;
  interim.reason = response_.reason;
  interim.fields = &response_.fields;
  out_.clear();
  if (auto written = http::write_response_head(out_, interim); !written)
    co_return fail_with(ReasonCode::kUpstreamMalformed, written.error().detail);
  auto flushing = flush();
  co_return co_await std::move(flushing);
}

// True once all of it has gone out; `data` is what follows what is in out_, and becomes what is still to be written.
bool Exchange::flush_now(std::string_view& data) {
  // One piece is cheaper to send than two, as long as it is small.
  if (!out_.empty() && data.size() <= kCopied) {
    out_ += data;
    data = {};
  }
  auto sent = out_.empty() ? client_.stream().write_now(data) : client_.stream().write_now(out_, data);
  if (sent > 0) touch();
  auto of_head = std::min(sent, out_.size());
  out_.erase(0, of_head);
  data.remove_prefix(sent - of_head);
  return out_.empty() && data.empty();
}

Awaitable<bool> Exchange::flush(std::string_view data) {
  if ((out_.empty() && data.empty()) || flush_now(data)) co_return true;
  auto writing = out_.empty() ? client_.stream().write_all(data) : client_.stream().write_all(out_, data);
  auto written = co_await std::move(writing);
  out_.clear();
  touch();
  co_return written.has_value();
}

// What is not the end of the answer for sure. To a client that takes the end of the connection for it, any byte might be the last.
Awaitable<bool> Exchange::flush_inner() {
  if (client_body_.kind != http::FramingKind::kUntilClose) {
    auto flushing = flush();
    co_return co_await std::move(flushing);
  }
  char last = out_.back();
  out_.pop_back();
  auto flushing = flush();
  bool flushed = co_await std::move(flushing);
  out_ = last;
  co_return flushed;
}

Awaitable<bool> Exchange::relay_response() {
  client_body_ = http::client_framing(response_.body, client_minor_);
  bool keep = client_keep_alive_ && body_done_;
  http::ClientResponse head;
  head.status = response_.status;
  head.reason = response_.reason;
  head.fields = &response_.fields;
  head.body = client_body_;
  head.content_length = response_.content_length;
  head.client_minor = client_minor_;
  head.keep_alive = keep;
  head.answers_head = method_ == "HEAD";
  client_keep_alive_ = keep && client_body_.kind != http::FramingKind::kUntilClose;
  out_.clear();
  if (auto written = http::write_response_head(out_, head); !written)
    co_return fail_with(ReasonCode::kUpstreamMalformed, written.error().detail);
  switch (response_.body.kind) {
    case http::FramingKind::kNone: {
      auto finishing = finish();
      co_return co_await std::move(finishing);
    }
    case http::FramingKind::kLength: {
      // Mostly it is all here.
      auto length = static_cast<std::size_t>(response_.body.length);
      if (upstream_->input.size() >= length) {
        auto finishing = finish(upstream_->input.view().substr(0, length));
        bool finished = co_await std::move(finishing);
        upstream_->input.consume(length);
        co_return finished;
      }
      auto relaying = relay_length(response_.body.length);
      co_return co_await std::move(relaying);
    }
    case http::FramingKind::kChunked: {
      auto relaying = relay_chunked();
      co_return co_await std::move(relaying);
    }
    case http::FramingKind::kUntilClose:
      break;
  }
  auto relaying = relay_until_close();
  co_return co_await std::move(relaying);
}

Awaitable<bool> Exchange::relay_length(std::uint64_t left) {
  auto& input = upstream_->input;
  for (;;) {
    auto data = input.view().substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left, input.size())));
    if (data.size() == left) {
      auto finishing = finish(data);
      bool finished = co_await std::move(finishing);
      input.consume(data.size());
      co_return finished;
    }
    if (!data.empty()) {
      begin_answer();
      auto flushing = flush(data);
      if (!co_await std::move(flushing)) co_return false;
      left -= data.size();
      input.consume(data.size());
    }
    input.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(left, kReadAhead)));
    auto reading = read_upstream();
    auto got = co_await std::move(reading);
    if (!got || got.value() == 0) co_return fail_with(ReasonCode::kUpstreamClosed, "the response ended early");
  }
}

void Exchange::append_body(std::string_view data) {
  if (client_body_.kind != http::FramingKind::kChunked) {
    out_ += data;
    return;
  }
  out_ += http::ChunkPrefix(data.size()).text();
  out_ += data;
  out_ += http::kChunkEnd;
}

Awaitable<bool> Exchange::relay_chunked() {
  auto& input = upstream_->input;
  http::ChunkDecoder decoder;
  for (;;) {
    auto step = decoder.decode(input.view());
    if (step.state == http::ChunkDecoder::State::kRefused) co_return fail_with(ReasonCode::kUpstreamMalformed, step.reason);
    if (step.state == http::ChunkDecoder::State::kData) append_body(step.data);
    input.consume(step.consumed);
    if (step.state == http::ChunkDecoder::State::kDone) break;
    if (step.state == http::ChunkDecoder::State::kData && out_.size() < kReadAhead) continue;
    if (step.state == http::ChunkDecoder::State::kNeedMore || out_.size() >= kReadAhead) {
      begin_answer();
      auto flushing = flush_inner();
      if (!co_await std::move(flushing)) co_return false;
    }
    if (step.state == http::ChunkDecoder::State::kData) continue;
    auto reading = read_upstream();
    auto got = co_await std::move(reading);
    if (!got || got.value() == 0) co_return fail_with(ReasonCode::kUpstreamClosed, "the response ended early");
  }
  if (client_body_.kind == http::FramingKind::kChunked) out_ += http::kLastChunk;
  auto finishing = finish();
  co_return co_await std::move(finishing);
}

// The end of the connection is the end of the body, so the last piece is known as such only one read later.
Awaitable<bool> Exchange::relay_until_close() {
  auto& input = upstream_->input;
  for (;;) {
    auto held = input.size();
    if (held > 0) append_body(input.view());
    input.consume(held);
    if (out_.size() >= kReadAhead) {
      begin_answer();
      auto flushing = flush_inner();
      if (!co_await std::move(flushing)) co_return false;
    }
    auto reading = read_upstream();
    auto got = co_await std::move(reading);
    if (!got) co_return fail_with(ReasonCode::kUpstreamClosed, "the response was cut");
    if (got.value() == 0) break;
    // What came before is certainly not the last byte.
    begin_answer();
    auto flushing = flush();
    if (!co_await std::move(flushing)) co_return false;
  }
  if (client_body_.kind == http::FramingKind::kChunked) out_ += http::kLastChunk;
  response_.keep_alive = false;
  auto finishing = finish();
  co_return co_await std::move(finishing);
}

// Everything of the response is here. Its record goes first, then its last bytes.
Awaitable<bool> Exchange::finish(std::string_view last) {
  // What is still to come of the body would not be in the record, and the upstream has answered without it.
  if (!body_joined_) discard_body_ = true;
  auto recorded = record_request({});
  if (!recorded) co_return fail_with(ReasonCode::kAuditUnavailable, recorded.error().detail);
  recorded_ = true;
  auto waiting = task_.services().recorder.accepted(recorded.value());
  auto on_file = co_await std::move(waiting);
  if (!on_file) co_return fail_with(ReasonCode::kAuditUnavailable, on_file.error().detail);
  begin_answer();
  if (flush_now(last)) co_return true;
  auto flushing = flush(last);
  co_return co_await std::move(flushing);
}

}  // namespace sallyport::proxy
