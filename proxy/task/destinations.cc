#include "proxy/task/destinations.h"

#include <algorithm>

namespace sallyport::proxy {

DestinationUse& Destinations::of(const policy::Target& target, Port port) {
  if (last_use_ != nullptr && last_port_ == port && last_target_ == target) return *last_use_;
  last_use_ = &find(target, port);
  last_target_ = target;
  last_port_ = port;
  return *last_use_;
}

DestinationUse& Destinations::find(const policy::Target& target, Port port) {
  std::string key = target.authority(port);
  auto found = named_.find(key);
  if (found != named_.end()) return found->second;
  if (named_.size() >= kMax && !make_room()) return others_;
  return named_[std::move(key)];
}

void Destinations::deny(const policy::Target& target, Port port) {
  std::string key = target.authority(port);
  auto found = named_.find(key);
  if (found != named_.end()) {
    ++found->second.denied;
  } else if (named_.size() < kMax) {
    ++named_[std::move(key)].denied;
  } else {
    ++others_.denied;
  }
}

// True if an entry that was never used could be folded into the others.
bool Destinations::make_room() {
  auto unused = std::ranges::find_if(named_, [](const auto& entry) { return entry.second.requests == 0 && entry.second.connections == 0; });
  if (unused == named_.end()) return false;
  last_use_ = nullptr;
  others_.denied += unused->second.denied;
  others_.bytes_up += unused->second.bytes_up;
  others_.bytes_down += unused->second.bytes_down;
  named_.erase(unused);
  return true;
}

DestinationUse Destinations::total() const noexcept {
  DestinationUse sum = others_;
  for (const auto& [name, use] : named_) {
    sum.connections += use.connections;
    sum.requests += use.requests;
    sum.denied += use.denied;
    sum.bytes_up += use.bytes_up;
    sum.bytes_down += use.bytes_down;
  }
  return sum;
}

}  // namespace sallyport::proxy
