#include "proxy/tunnel/relay.h"

#include <boost/asio/post.hpp>

#include "core/async/sleep.h"

namespace sallyport::proxy {
namespace {

using policy::ReasonCode;

constexpr auto kDeliveryCheck = std::chrono::milliseconds(10);

ReasonCode budget_of(Resource resource) { return resource == Resource::kUpload ? ReasonCode::kBudgetUpload : ReasonCode::kBudgetDownload; }

}  // namespace

void Relay::start(ClientConnection& client, const policy::ApprovedDestination& destination, std::unique_ptr<UpstreamConnection> upstream) {
  auto relay = std::make_shared<Relay>(client, destination, std::move(upstream));
  auto& scope = relay->task_.scope();
  scope.enlist(*relay);
  for (Way* way : {&relay->down_, &relay->up_}) {
    if (scope.spawn(pump(relay, *way))) continue;
    relay->break_off();
    if (--relay->pumps_ == 0) relay->record();
  }
}

Relay::Relay(ClientConnection& client, const policy::ApprovedDestination& destination, std::unique_ptr<UpstreamConnection> upstream)
    : task_(client.task()), policy_(task_.policy_snapshot()), destination_(destination), client_(client.take_stream()),
      upstream_(std::move(upstream)), opened_(client.opened()), active_(Clock::now()),
      idle_(task_.idle_limit().value_or(ClientConnection::kIdleTime)), end_(task_.connection_deadline(destination.rule(), opened_)),
      id_(client.id()), form_(client.form()),
      up_(*client_, *upstream_->stream, task_.limits(destination.rule()), Resource::kUpload, task_.services().relays, task_.relay_share,
          std::move(client.input())),
      down_(*upstream_->stream, *client_, task_.limits(destination.rule()), Resource::kDownload, task_.services().relays, task_.relay_share,
            net::InputBuffer(0)) {
  ++task_.clients;
  watch();
}

Relay::~Relay() { --task_.clients; }

Awaitable<void> Relay::pump(std::shared_ptr<Relay> self, Way& way) {
  bool going = true;
  while (going && self->state_ == State::kOpen) {
    auto next = way.step(Clock::now());
    if (next == Way::Next::kEnded) break;
    if (next == Way::Next::kFailed) {
      self->break_off();
    } else if (next == Way::Next::kRead) {
      // Awaited here, without a further coroutine: this is where an idle tunnel spends its life.
      auto waiting = way.from().readable();
      auto [error] = co_await std::move(waiting);
      if (error && self->state_ == State::kOpen) self->break_off();
      self->active_ = Clock::now();
    } else {
      auto pausing = self->pause(way, next);
      going = co_await std::move(pausing);
    }
  }
  if (--self->pumps_ > 0) {
    self->watch();
    co_return;
  }
  auto finishing = self->finish();
  co_await std::move(finishing);
}

Awaitable<bool> Relay::pause(Way& way, Way::Next next) {
  if (next == Way::Next::kYield) {
    active_ = Clock::now();
    auto turn = boost::asio::post(task_.services().executor, kAwait);
    co_await std::move(turn);
    co_return true;
  }
  if (next == Way::Next::kWrite) {
    blocked();
    auto waiting = way.to().writable();
    auto [error] = co_await std::move(waiting);
    --writers_waiting_;
    if (error && state_ == State::kOpen) break_off();
    active_ = Clock::now();
    co_return true;
  }
  auto limits = task_.limits(destination_.rule());
  auto waiting = limits.wait_for_some(way.resource(), Way::kFairLeast);
  auto some = co_await std::move(waiting);
  if (some.amount == 0) cut_at(way, some.rule_limit);
  co_return some.amount > 0;
}

void Relay::abort(async::CancelReason) noexcept { break_off(); }

// A tunnel that was cut has ended its stream already: what upstream has not acknowledged yet still gets there.
void Relay::break_off() noexcept {
  auto how = state_ == State::kCut ? net::CloseReason::kOrderly : net::CloseReason::kReset;
  state_ = State::kBroken;
  client_->abort(net::CloseReason::kReset);
  upstream_->stream->abort(how);
}

void Relay::cut_at(const Way& way, bool rule_limit) noexcept {
  // The end of a task closes its allowances too.
  if (task_.phase() == Task::Phase::kEnded) return break_off();
  cut(to_string(way.resource()), budget_of(way.resource()), rule_limit ? static_cast<int>(destination_.rule().index) : -1);
}

void Relay::cut(std::string_view limit, ReasonCode reason, int owner) noexcept {
  if (state_ != State::kOpen) return;
  state_ = State::kCut;
  limit_ = limit;
  reason_ = reason;
  owner_ = owner;
  up_.flush();
  client_->abort(net::CloseReason::kReset);
  upstream_->stream->shutdown_write();
  upstream_->stream->cancel_waits();
}

// One entry of the wheel for all that may be due.
void Relay::watch() noexcept {
  auto due = end_.earlier(Deadline(active_ + idle_));
  if (unread()) due = due.earlier(Deadline::after(kWatch));
  task_.services().wheel.arm(*this, due);
}

// Whoever waits to write does not see the other side reset; nobody sees the side reset whose stream has ended.
bool Relay::unread() const noexcept { return writers_waiting_ > 0 || pumps_ < 2; }

void Relay::blocked() noexcept {
  if (++writers_waiting_ == 1) watch();
}

void Relay::expired() noexcept {
  if (state_ != State::kOpen) return;
  auto now = Clock::now();
  if (end_.passed(now)) return cut("connections.duration", ReasonCode::kBudgetDuration, task_.duration_owner(destination_.rule()));
  if (now - active_ >= idle_) return cut("idle", ReasonCode::kIdle, -1);
  if (unread() && (client_->is_dead() || upstream_->stream->is_dead())) return break_off();
  watch();
}

Awaitable<void> Relay::finish() {
  record();
  auto patience = Deadline::after(kDeliveryTime);
  while (state_ == State::kCut && !upstream_->stream->is_delivered() && !patience.passed(Clock::now())) {
    auto pause = async::sleep_until(task_.services().wheel, Deadline::after(kDeliveryCheck));
    co_await std::move(pause);
  }
}

void Relay::record_cut() {
  Decision d;
  d.form = form_;
  d.connection = id_;
  d.reason = reason_;
  d.rule = destination_.rule();
  d.target = &destination_.target();
  d.port = destination_.port().value();
  (void)task_.record(d);
  task_.limit_reached(limit_, owner_);
}

void Relay::record() {
  using audit::FieldId;
  auto& use = task_.destinations().of(destination_.target(), destination_.port());
  use.bytes_up += up_.counted();
  use.bytes_down += down_.counted();
  if (state_ == State::kCut) record_cut();
  auto duration = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - opened_).count();
  audit::RecordBuilder r(audit::RecordKind::kTunnel, task_.id());
  r.number(FieldId::kConnectionId, id_).text(FieldId::kRule, destination_.rule().id);
  r.text(FieldId::kProtocol, destination_.treatment() == policy::Treatment::kTlsTunnel ? "tls" : "tcp");
  r.text(FieldId::kClientForm, to_string(form_)).text(FieldId::kNameUsed, destination_.target().text());
  r.number(FieldId::kPort, destination_.port().value()).text(FieldId::kAddressDialled, upstream_->endpoint.text());
  r.number(FieldId::kBytesUp, up_.counted()).number(FieldId::kBytesDown, down_.counted());
  r.number(FieldId::kDurationUs, static_cast<std::uint64_t>(duration));
  if (!limit_.empty()) r.text(FieldId::kLimit, limit_);
  (void)task_.services().recorder.append(r);  // a full ring notes the loss as a gap
}

}  // namespace sallyport::proxy
