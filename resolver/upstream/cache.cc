#include "resolver/upstream/cache.h"

namespace sallyport::resolver {
namespace {

bool may_be_kept(const Resolution& resolution) noexcept {
  return resolution.status != Resolution::Status::kOverloaded && resolution.ttl > 0;
}

}  // namespace

void Cache::put(const Sought& sought, const Resolution& resolution, Clock::time_point now) {
  if (auto known = index_.find(sought); known != index_.end()) {
    entries_.erase(known->second);
    index_.erase(known);
  }
  if (!may_be_kept(resolution) || capacity_ == 0) return;
  if (entries_.size() >= capacity_) {
    index_.erase(entries_.back().sought);
    entries_.pop_back();
  }
  entries_.push_front({sought, resolution, now + std::chrono::seconds(resolution.ttl)});
  index_.emplace(sought, entries_.begin());
}

const Resolution* Cache::find(const Sought& sought, Clock::time_point now) {
  auto known = index_.find(sought);
  if (known == index_.end()) return nullptr;
  auto entry = known->second;
  if (now >= entry->until) {
    entries_.erase(entry);
    index_.erase(known);
    return nullptr;
  }
  entry->resolution.ttl =
      static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(entry->until - now).count());
  entries_.splice(entries_.begin(), entries_, entry);
  return &entry->resolution;
}

}  // namespace sallyport::resolver
