// SyntheticPool: the private addresses that stand for names inside one task.
//
// An allowed name is answered with a pair of addresses of the pool; when the task connects to one of them, lookup()
// tells which name was meant. An address never changes its meaning while the task lives, so nothing a program has
// cached can reach another name.
//
// One a task; owned by the task, used on its home thread only. Names come from the sandbox, checked by policy before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "core/base/host_name.h"
#include "core/base/ip_address.h"
#include "core/base/result.h"

namespace sallyport::resolver {

struct SyntheticPair {
  IpAddress v4, v6;
};

class SyntheticPool {
 public:
  // The first addresses of both ranges have fixed meanings or none; names begin after them.
  static constexpr std::size_t kReserved = 16;
  static constexpr std::size_t kResolverOffset = 1;
  static constexpr std::size_t kInternalOffset = 2;
  static constexpr std::size_t kDefaultMaxNames = 4080;

  // `v4` is a range of 32 to 65536 addresses, `v6` one of length 64 to 112; kInvalid otherwise. `max_names` is the
  // task's budget of distinct names; the IPv4 range may allow fewer.
  static Result<SyntheticPool> make(IpPrefix v4, IpPrefix v6, std::size_t max_names = kDefaultMaxNames);

  // The pair of `name`, made on first use. kOverloaded once capacity() names have one: addresses are never used again.
  Result<SyntheticPair> assign(const HostName& name);
  // The same for a name that is denied and has an address only so that connections to it can be refused readably. Such
  // names get no more than a quarter of the capacity: kOverloaded.
  Result<SyntheticPair> assign_denied(const HostName& name);

  struct Meaning {
    enum class Kind {
      kForeign,     // not of this pool
      kUnassigned,  // of this pool, without meaning
      kResolver,    // where the task's resolv.conf points
      kInternal,    // sallyport.internal
      kName,        // `name`, valid as long as the pool
    };
    Kind kind = Kind::kForeign;
    const HostName* name = nullptr;
  };
  Meaning lookup(const IpAddress& address) const noexcept;

  SyntheticPair resolver() const noexcept { return pair_at(kResolverOffset); }
  SyntheticPair internal() const noexcept { return pair_at(kInternalOffset); }
  bool contains(const IpAddress& address) const noexcept { return v4_.contains(address) || v6_.contains(address); }
  bool knows(const HostName& name) const noexcept { return offsets_.contains(name); }
  std::size_t size() const noexcept { return names_.size(); }
  std::size_t capacity() const noexcept { return capacity_; }

 private:
  SyntheticPool(IpPrefix v4, IpPrefix v6, std::size_t capacity) noexcept : v4_(v4), v6_(v6), capacity_(capacity) {}
  SyntheticPair pair_at(std::size_t offset) const noexcept;

  IpPrefix v4_, v6_;
  std::size_t capacity_, denied_ = 0;
  std::deque<HostName> names_;  // at offset kReserved + index; a deque, so that Meaning::name stays valid
  std::unordered_map<HostName, std::size_t> offsets_;
};

}  // namespace sallyport::resolver
