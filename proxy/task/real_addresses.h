// RealAddresses: the true addresses that a task has been given for names whose rule says `dns: real`, so that a connection to
// one of them can be taken for what it is: a connection to the name.
//
// One a task, on its home thread. Bounded; what was answered longer than kKept ago is forgotten.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/host_name.h"
#include "core/base/ip_address.h"

namespace sallyport::proxy {

class RealAddresses {
 public:
  static constexpr std::size_t kMax = 4096;                // pairs of address and name
  static constexpr std::size_t kMaxNames = 64;             // of one address: each connection to it looks at all of them
  static constexpr auto kKept = std::chrono::minutes(60);  // programs keep addresses for longer than their TTL

  // False: there is no room, and the addresses must not be given to the task.
  bool learn(const HostName& name, std::span<const IpAddress> addresses, Clock::time_point now);
  // The names that were answered with this address, each once; none for any other.
  std::vector<HostName> names_of(const IpAddress& address, Clock::time_point now) const;
  std::size_t size() const noexcept { return size_; }

 private:
  struct Entry {
    HostName name;
    Clock::time_point until;
  };
  bool has_room(const HostName& name, std::span<const IpAddress> addresses) const;
  void forget(Clock::time_point now);

  std::unordered_map<IpAddress, std::vector<Entry>> entries_;
  std::size_t size_ = 0;
};

}  // namespace sallyport::proxy
