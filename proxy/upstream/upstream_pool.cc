#include "proxy/upstream/upstream_pool.h"

#include <algorithm>

namespace sallyport::proxy {

bool UpstreamPool::is_fit(const Kept& kept, Clock::time_point now) noexcept {
  return now - kept.connection->dialled_at < kMaxAge && now - kept.since < kMaxIdleTime && kept.connection->input.empty() &&
         kept.connection->stream->idle_and_open();
}

std::unique_ptr<UpstreamConnection> UpstreamPool::take(const policy::ApprovedDestination& destination,
                                                         const std::optional<IpAddress>& only) {
  if (kept_.empty()) return nullptr;
  auto now = Clock::now();
  for (std::size_t i = kept_.size(); i-- > 0;) {
    Kept& kept = kept_[i];
    const UpstreamConnection& candidate = *kept.connection;
    if (candidate.rule != destination.rule().index || candidate.port != destination.port() || candidate.target != destination.target()) continue;
    if (only && candidate.endpoint.address != *only) continue;
    bool fit = is_fit(kept, now);
    auto connection = std::move(kept.connection);
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
    if (!fit) continue;
    connection->reused = true;
    return connection;
  }
  return nullptr;
}

void UpstreamPool::give_back(std::unique_ptr<UpstreamConnection> connection) {
  auto now = Clock::now();
  if (kept_.size() >= kMaxIdle || now - swept_ >= kMaxIdleTime) drop_stale(now);
  if (kept_.size() >= kMaxIdle || !connection->input.empty()) return;
  connection->input.shrink();
  kept_.push_back({std::move(connection), now});
}

void UpstreamPool::drop_stale(Clock::time_point now) noexcept {
  swept_ = now;
  std::erase_if(kept_, [&](const Kept& kept) { return !is_fit(kept, now); });
}

bool UpstreamPool::drop_one() noexcept {
  if (kept_.empty()) return false;
  kept_.erase(kept_.begin());
  return true;
}

void UpstreamPool::clear() noexcept { kept_.clear(); }

}  // namespace sallyport::proxy
