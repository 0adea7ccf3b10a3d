#include "resolver/upstream/cache.h"

namespace sallyport::resolver {
namespace {

bool may_be_kept(const Resolution& resolution) noexcept {
  using Status = Resolution::Status;
  switch (resolution.status) {
    case Status::kOk:
    case Status::kNxDomain:
    case Status::kNoData:
    case Status::kRefusedAddress:
      return resolution.ttl > 0;
    case Status::kServFail:
    case Status::kTimedOut:
    case Status::kOverloaded:
      return false;
  }
  return false;
}

}  // namespace

void Cache::put(const HostName& name, const Resolution& resolution, Clock::time_point now) {
  if (auto known = index_.find(name); known != index_.end()) {
    entries_.erase(known->second);
    index_.erase(known);
  }
  if (!may_be_kept(resolution) || capacity_ == 0) return;
  if (entries_.size() >= capacity_) {
    index_.erase(entries_.back().name);
    entries_.pop_back();
  }
  entries_.push_front({name, resolution, now + std::chrono::seconds(resolution.ttl)});
  index_.emplace(name, entries_.begin());
}

const Resolution* Cache::find(const HostName& name, Clock::time_point now) {
  auto known = index_.find(name);
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
