#include "proxy/tunnel/relay.h"

#include <algorithm>

namespace sallyport::proxy {

Relay::Relay(ClientConnection& client, UpstreamConnection& upstream, LimitSet limits, std::optional<std::chrono::seconds> idle)
    : client_(client), upstream_(upstream), limits_(limits), idle_(idle.value_or(ClientConnection::kIdleTime)),
      ended_(client.task().services().executor) {}

// Arming the wheel for every read would be exact but wasteful: an idle bound may be late by a second.
void Relay::touch() noexcept {
  auto now = Clock::now();
  if (now - touched_ < std::chrono::milliseconds(500)) return;
  touched_ = now;
  client_.expect_until(Deadline(now + idle_), Expired::kIdle);
}

void Relay::stop_at(Resource resource, bool rule_limit) noexcept {
  totals_.limit = resource;
  totals_.rule_limit = rule_limit;
  client_.abort_both();
}

Awaitable<bool> Relay::send_buffered_input() {
  auto& input = client_.input();
  while (!input.empty()) {
    auto taking = limits_.take(Resource::kUpload, input.size());
    auto taken = co_await std::move(taking);
    if (taken.amount == 0) {
      stop_at(Resource::kUpload, taken.rule_limit);
      co_return false;
    }
    auto writing = upstream_.stream->write_all(input.view().substr(0, taken.amount));
    auto written = co_await std::move(writing);
    if (!written) co_return false;
    totals_.up += taken.amount;
    input.consume(taken.amount);
  }
  input.release();
  co_return true;
}

Awaitable<bool> Relay::move_some(net::SocketStream& from, net::SocketStream& to, Resource resource, std::uint64_t& counted) {
  auto waiting = from.wait_readable();
  auto ready = co_await std::move(waiting);
  if (!ready) co_return false;
  // No more than has arrived: what is held between take and put_back would be missing to the task's other connections.
  std::size_t want = limits_.limited(resource) ? std::min(from.arrived(), kBuffer) : kBuffer;
  if (want == 0) {
    auto ending = pass_end(from, to, resource, counted);
    co_return co_await std::move(ending);
  }
  auto taking = limits_.take(resource, want);
  auto taken = co_await std::move(taking);
  if (taken.amount == 0) {
    stop_at(resource, taken.rule_limit);
    co_return false;
  }
  auto buffer = std::make_unique_for_overwrite<char[]>(taken.amount);
  auto reading = from.read_some({buffer.get(), static_cast<std::size_t>(taken.amount)});
  auto got = co_await std::move(reading);
  std::size_t count = got ? got.value() : 0;
  limits_.put_back(resource, taken.amount - count);
  if (!got) co_return false;
  touch();
  if (count == 0) {
    to.shutdown_write();
    co_return true;
  }
  counted += count;
  auto writing = to.write_all({buffer.get(), count});
  auto written = co_await std::move(writing);
  co_return written.has_value();
}

// Readable without a byte: the end, which costs nothing and may come with the budget used up. A byte that arrived meanwhile is paid for
// before it goes on.
Awaitable<bool> Relay::pass_end(net::SocketStream& from, net::SocketStream& to, Resource resource, std::uint64_t& counted) {
  char byte = 0;
  auto reading = from.read_some({&byte, 1});
  auto got = co_await std::move(reading);
  if (!got) co_return false;
  touch();
  if (got.value() == 0) {
    to.shutdown_write();
    co_return true;
  }
  auto taking = limits_.take(resource, 1);
  auto taken = co_await std::move(taking);
  if (taken.amount == 0) {
    stop_at(resource, taken.rule_limit);
    co_return false;
  }
  ++counted;
  auto writing = to.write_all({&byte, 1});
  auto written = co_await std::move(writing);
  co_return written.has_value();
}

Awaitable<void> Relay::pump_up() {
  auto sending = send_buffered_input();
  bool going = co_await std::move(sending);
  while (going) {
    auto before = totals_.up;
    auto moving = move_some(client_.stream(), *upstream_.stream, Resource::kUpload, totals_.up);
    going = co_await std::move(moving);
    if (going && totals_.up == before) {
      up_done_ = true;
      co_return;
    }
  }
  failed_ = true;
  client_.abort_both();
}

Awaitable<void> Relay::pump_down() {
  bool going = true;
  while (going) {
    auto before = totals_.down;
    auto moving = move_some(*upstream_.stream, client_.stream(), Resource::kDownload, totals_.down);
    going = co_await std::move(moving);
    if (going && totals_.down == before) co_return;
  }
  failed_ = true;
  client_.abort_both();
}

Awaitable<void> Relay::pump_down_then_tell() {
  auto pumping = pump_down();
  co_await std::move(pumping);
  down_done_ = true;
  ended_.notify_all();
}

Awaitable<RelayTotals> Relay::run() {
  touch();
  // The second direction is a coroutine of the task's scope, joined below: it borrows this object.
  auto spawned = client_.task().scope().spawn(pump_down_then_tell());
  if (!spawned) {
    client_.abort_both();
    co_return totals_;
  }
  auto pumping = pump_up();
  co_await std::move(pumping);
  while (!down_done_) {
    auto wait = ended_.wait();
    co_await std::move(wait);
  }
  totals_.orderly = !failed_;
  co_return totals_;
}

}  // namespace sallyport::proxy
