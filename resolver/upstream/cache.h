// Cache: answers that may be used again for a short time.
#pragma once

#include <list>
#include <unordered_map>

#include "core/base/deadline.h"
#include "resolver/upstream/resolution.h"

namespace sallyport::resolver {

// At most `capacity` of them; the one used longest ago goes first. Time is the caller's. Not thread-safe.
class Cache {
 public:
  explicit Cache(std::size_t capacity) noexcept : capacity_(capacity) {}

  // Keeps it for its TTL; a TTL of 0, and what was refused for load, is not kept.
  void put(const Sought& sought, const Resolution& resolution, Clock::time_point now);
  // The answer with what is left of its TTL, at least 1 second; nullptr if there is none. Valid until the next call.
  const Resolution* find(const Sought& sought, Clock::time_point now);
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    Sought sought;
    Resolution resolution;
    Clock::time_point until;
  };
  std::size_t capacity_;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<Sought, std::list<Entry>::iterator> index_;
};

}  // namespace sallyport::resolver
