#include "proxy/task/real_addresses.h"

#include <algorithm>

namespace sallyport::proxy {

bool RealAddresses::has_room(const HostName& name, std::span<const IpAddress> addresses) const {
  if (size_ + addresses.size() > kMax) return false;
  return std::ranges::all_of(addresses, [&](const IpAddress& address) {
    auto found = entries_.find(address);
    if (found == entries_.end() || found->second.size() < kMaxNames) return true;
    return std::ranges::find(found->second, name, &Entry::name) != found->second.end();
  });
}

bool RealAddresses::learn(const HostName& name, std::span<const IpAddress> addresses, Clock::time_point now) {
  if (!has_room(name, addresses)) forget(now);
  if (!has_room(name, addresses)) return false;
  for (const IpAddress& address : addresses) {
    auto& names = entries_[address];
    auto known = std::ranges::find(names, name, &Entry::name);
    if (known != names.end()) {
      known->until = now + kKept;
      continue;
    }
    names.push_back({name, now + kKept});
    ++size_;
  }
  return true;
}

std::vector<HostName> RealAddresses::names_of(const IpAddress& address, Clock::time_point now) const {
  std::vector<HostName> out;
  auto found = entries_.find(address);
  if (found == entries_.end()) return out;
  for (const Entry& entry : found->second)
    if (now < entry.until) out.push_back(entry.name);
  return out;
}

void RealAddresses::forget(Clock::time_point now) {
  for (auto& [address, names] : entries_) size_ -= std::erase_if(names, [&](const Entry& entry) { return entry.until <= now; });
  std::erase_if(entries_, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace sallyport::proxy
