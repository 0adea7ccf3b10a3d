#include "proxy/upstream/upstream_pool.h"

#include <algorithm>

namespace sallyport::proxy {

std::string UpstreamPool::key_of(const policy::ApprovedDestination& destination) {
  return destination.target().authority(destination.port()) + "#" + std::to_string(destination.rule().index);
}

std::unique_ptr<UpstreamConnection> UpstreamPool::take(const policy::ApprovedDestination& destination) {
  if (idle_ == 0) return nullptr;
  auto found = kept_.find(key_of(destination));
  if (found == kept_.end()) return nullptr;
  auto now = Clock::now();
  auto& list = found->second;
  while (!list.empty()) {
    auto kept = std::move(list.back());
    list.pop_back();
    --idle_;
    bool fresh = now - kept.connection->dialled_at < kMaxAge && now - kept.since < kMaxIdleTime;
    if (fresh && kept.connection->input.empty() && kept.connection->stream->idle_and_open()) {
      kept.connection->reused = true;
      if (list.empty()) kept_.erase(found);
      return std::move(kept.connection);
    }
  }
  kept_.erase(found);
  return nullptr;
}

void UpstreamPool::give_back(const policy::ApprovedDestination& destination, std::unique_ptr<UpstreamConnection> connection) {
  auto now = Clock::now();
  if (idle_ >= kMaxIdle || now - swept_ >= kMaxIdleTime) drop_stale(now);
  if (idle_ >= kMaxIdle || !connection->input.empty()) return;
  connection->input.release();
  kept_[key_of(destination)].push_back({std::move(connection), now});
  ++idle_;
}

void UpstreamPool::drop_stale(Clock::time_point now) noexcept {
  swept_ = now;
  for (auto& [key, list] : kept_) {
    auto before = list.size();
    std::erase_if(list, [&](const Kept& kept) {
      return now - kept.connection->dialled_at >= kMaxAge || now - kept.since >= kMaxIdleTime || !kept.connection->stream->idle_and_open();
    });
    idle_ -= before - list.size();
  }
  std::erase_if(kept_, [](const auto& entry) { return entry.second.empty(); });
}

bool UpstreamPool::drop_one() noexcept {
  if (kept_.empty()) return false;
  auto entry = kept_.begin();
  entry->second.erase(entry->second.begin());
  if (entry->second.empty()) kept_.erase(entry);
  --idle_;
  return true;
}

void UpstreamPool::clear() noexcept {
  kept_.clear();
  idle_ = 0;
}

}  // namespace sallyport::proxy
