#include "proxy/task/destinations.h"

namespace sallyport::proxy {

DestinationUse& Destinations::of(const policy::Target& target, Port port) {
  std::string key = target.authority(port);
  auto found = named_.find(key);
  if (found != named_.end()) return found->second;
  if (named_.size() >= kMax) return others_;
  return named_[std::move(key)];
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
