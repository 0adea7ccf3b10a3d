#include "proxy/tunnel/way.h"

#include <algorithm>
#include <cstring>

namespace sallyport::proxy {

using net::RelayPool;
using net::RelayShare;

Way::Way(net::SocketStream& from, net::SocketStream& to, LimitSet limits, Resource resource, RelayPool& pool, RelayShare& share,
         net::InputBuffer first) noexcept
    : from_(from), to_(to), limits_(limits), pool_(pool), share_(share), first_(std::move(first)), resource_(resource) {}

Way::~Way() {
  if (counts_when_handed()) limits_.put_back(resource_, held());
  drop_kept();
}

Way::Next Way::step(Clock::time_point now) {
  for (;;) {
    if (held() > 0 && !hand_on()) return failed_ ? Next::kFailed : Next::kWrite;
    if (read_short_) {
      read_short_ = false;
      woken_ = true;
      turn_ = 0;
      return Next::kRead;
    }
    if (turn_ >= kTurn) {
      turn_ = 0;
      return Next::kYield;
    }
    auto next = first_.empty() ? pull(now) : send_first();
    if (!next) continue;
    if (*next == Next::kRead) woken_ = true;
    if (*next == Next::kRead || *next == Next::kWrite) turn_ = 0;
    return *next;
  }
}

void Way::flush() noexcept {
  if (held() > 0) (void)hand_on();
}

// True once nothing is held.
bool Way::hand_on() noexcept {
  while (held() > 0) {
    bool from_memory = kept_size_ > 0;
    auto sent = from_memory ? to_.send_now({kept_.get() + kept_at_, kept_size_}) : pipe_->drain(to_.fd());
    if (!sent.moved()) {
      failed_ = !sent.blocked();
      return false;
    }
    handed(sent.count);
    if (!from_memory) continue;
    share_.kept -= sent.count;
    kept_at_ += static_cast<std::uint32_t>(sent.count);
    kept_size_ -= static_cast<std::uint32_t>(sent.count);
  }
  kept_.reset();
  pipe_ = {};
  return true;
}

void Way::handed(std::size_t count) noexcept {
  if (counts_when_handed()) counted_ += count;
}

std::optional<Way::Next> Way::send_first() noexcept {
  auto taken = limits_.take_now(resource_, std::min(first_.size(), RelayPool::kScratch));
  if (taken == 0) return Next::kAllowance;
  auto sent = to_.send_now(first_.view().substr(0, taken));
  limits_.put_back(resource_, taken - sent.count);
  if (!sent.moved()) return sent.blocked() ? Next::kWrite : Next::kFailed;
  counted_ += sent.count;
  first_.consume(sent.count);
  first_.release();
  return std::nullopt;
}

std::size_t Way::piece() const noexcept {
  std::size_t most = splicing_ ? kSpliceMost : RelayPool::kScratch;
  if (limits_.limited(resource_)) most = std::min(most, std::max<std::size_t>(kFairLeast, limits_.on_hand(resource_) / kFairPart));
  return share_.kept >= RelayShare::kMaxKept ? std::min(most, kScarcePiece) : most;
}

std::optional<Way::Next> Way::pull(Clock::time_point now) {
  auto taken = limits_.take_now(resource_, piece());
  if (taken == 0) return look_without_allowance();
  if (splicing_) {
    auto size = spliced_ >= kLargeBulk ? RelayPool::Size::kLarge : RelayPool::Size::kOrdinary;
    pipe_ = pool_.lease(share_, size);
  }
  return pipe_ ? pull_through_pipe(taken, now) : pull_through_memory(taken, now);
}

std::optional<Way::Next> Way::pull_through_pipe(std::uint64_t taken, Clock::time_point now) noexcept {
  auto got = pipe_->fill(from_.fd(), taken);
  limits_.put_back(resource_, taken - got.count);
  if (!got.moved()) {
    pipe_ = {};
    // Readable, and yet nothing comes: urgent data stands in the way, which only an ordinary read passes. With the end of the stream
    // behind it, splice(2) takes it for the end.
    if ((got.blocked() && woken_) || (got.ended() && from_.look().moved())) {
      woken_ = false;
      auto some = limits_.take_now(resource_, kScarcePiece);
      return some == 0 ? look_without_allowance() : pull_through_memory(some, now);
    }
    return nothing_moved(got);
  }
  spliced_ += got.count;
  read_short_ = got.count < kShortSplice;
  arrived(got.count, now);
  return std::nullopt;
}

std::optional<Way::Next> Way::pull_through_memory(std::uint64_t taken, Clock::time_point now) {
  auto buffer = pool_.scratch().first(std::min<std::size_t>(taken, RelayPool::kScratch));
  auto got = from_.receive_now(buffer);
  limits_.put_back(resource_, taken - got.count);
  if (!got.moved()) return nothing_moved(got);
  read_short_ = got.count < buffer.size();
  arrived(got.count, now);
  std::string_view bytes(buffer.data(), got.count);
  auto sent = to_.send_now(bytes);
  handed(sent.count);
  if (sent.count < bytes.size()) keep(bytes.substr(sent.count));
  if (sent.moved() || sent.blocked()) return std::nullopt;
  return Next::kFailed;
}

std::optional<Way::Next> Way::nothing_moved(net::Transfer transfer) noexcept {
  if (transfer.blocked()) return Next::kRead;
  if (transfer.failed()) return Next::kFailed;
  to_.shutdown_write();
  return Next::kEnded;
}

// The end costs nothing and may come with the budget used up; a byte may not, and stays where it is.
Way::Next Way::look_without_allowance() noexcept {
  auto seen = from_.look();
  return seen.moved() ? Next::kAllowance : *nothing_moved(seen);
}

void Way::arrived(std::size_t count, Clock::time_point now) noexcept {
  woken_ = false;
  turn_ += static_cast<std::uint32_t>(count);
  if (!counts_when_handed()) counted_ += count;
  if (now - window_ > kBulkTime) {
    window_ = now;
    window_bytes_ = 0;
  }
  window_bytes_ += static_cast<std::uint32_t>(std::min<std::size_t>(count, kBulk));
  if (!splicing_) {
    splicing_ = window_bytes_ >= kBulk;
    return;
  }
  small_pieces_ = count < kSmallPiece ? static_cast<std::uint8_t>(small_pieces_ + 1) : std::uint8_t{0};
  if (small_pieces_ < kSmallPieces) return;
  splicing_ = false;
  small_pieces_ = 0;
  window_bytes_ = 0;
}

void Way::keep(std::string_view rest) {
  kept_ = std::make_unique_for_overwrite<char[]>(rest.size());
  std::memcpy(kept_.get(), rest.data(), rest.size());
  kept_at_ = 0;
  kept_size_ = static_cast<std::uint32_t>(rest.size());
  share_.kept += rest.size();
}

void Way::drop_kept() noexcept {
  share_.kept -= kept_size_;
  kept_size_ = 0;
  kept_.reset();
}

}  // namespace sallyport::proxy
