#include "core/net/relay_pool.h"

#include <algorithm>

namespace sallyport::net {

RelayPool::Lease::~Lease() {
  if (!pipe_) return;
  --share_->pipes;
  pool_->give_back(std::move(pipe_));
}

RelayPool::Lease RelayPool::lease(RelayShare& share, Size size) noexcept {
  if (share.pipes >= RelayShare::kMaxPipes) return {};
  auto pipe = take(size);
  if (!pipe) return {};
  ++share.pipes;
  return {*this, share, std::move(pipe)};
}

std::unique_ptr<Pipe> RelayPool::take(Size size) noexcept {
  auto pipe = take_idle(size);
  if (!pipe) {
    if (open_ >= kMaxPipes) return nullptr;
    auto opened = Pipe::open();
    if (!opened) return nullptr;
    pipe = std::make_unique<Pipe>(std::move(opened).value());
    ++open_;
  }
  if (size == Size::kLarge) enlarge(*pipe);
  return pipe;
}

// One of the wanted size if there is one, else the one used last.
std::unique_ptr<Pipe> RelayPool::take_idle(Size size) noexcept {
  if (idle_.empty()) return nullptr;
  auto fits = [size](const auto& pipe) { return is_large(*pipe) == (size == Size::kLarge); };
  auto found = std::find_if(idle_.rbegin(), idle_.rend(), fits);
  auto at = found == idle_.rend() ? std::prev(idle_.end()) : std::prev(found.base());
  auto pipe = std::move(*at);
  idle_.erase(at);
  return pipe;
}

void RelayPool::enlarge(Pipe& pipe) noexcept {
  if (is_large(pipe) || large_ >= kMaxLarge) return;
  pipe.grow(kLargeSlots);
  if (is_large(pipe)) ++large_;
}

void RelayPool::give_back(std::unique_ptr<Pipe> pipe) noexcept {
  if (pipe->held() == 0 && idle_.size() < kMaxIdle) {
    idle_.push_back(std::move(pipe));
    return;
  }
  --open_;
  if (is_large(*pipe)) --large_;
}

std::span<char> RelayPool::scratch() noexcept {
  if (!scratch_) scratch_ = std::make_unique_for_overwrite<char[]>(kScratch);
  return {scratch_.get(), kScratch};
}

}  // namespace sallyport::net
