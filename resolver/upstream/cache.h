// Cache: answers that may be used again for a short time.
#pragma once

#include <list>
#include <unordered_map>

#include "core/base/deadline.h"
#include "core/base/host_name.h"
#include "resolver/upstream/resolution.h"

namespace sallyport::resolver {

// At most `capacity` names; the one used longest ago goes first. Time is the caller's. Not thread-safe.
class Cache {
 public:
  explicit Cache(std::size_t capacity) noexcept : capacity_(capacity) {}

  // Keeps it for its TTL; a TTL of 0, and failures, are not kept.
  void put(const HostName& name, const Resolution& resolution, Clock::time_point now);
  // The answer with what is left of its TTL, at least 1 second; nullptr if there is none. Valid until the next call.
  const Resolution* find(const HostName& name, Clock::time_point now);
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    HostName name;
    Resolution resolution;
    Clock::time_point until;
  };
  std::size_t capacity_;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<HostName, std::list<Entry>::iterator> index_;
};

}  // namespace sallyport::resolver
