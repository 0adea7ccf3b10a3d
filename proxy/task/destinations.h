// Destinations: what a task used, by name and port, for its receipt. Bounded: past kMax the rest is counted as others. What was
// used takes the place of what was only refused, so that a task cannot hide it behind questions for names that it makes up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "policies/engine/target.h"

namespace sallyport::proxy {

struct DestinationUse {
  std::uint64_t connections = 0;
  std::uint64_t requests = 0;
  std::uint64_t denied = 0;
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
};

class Destinations {
 public:
  static constexpr std::size_t kMax = 256;

  // The counters of a target that is used, or those of all others. Valid until the next call.
  DestinationUse& of(const policy::Target& target, Port port);
  // Counts a refusal.
  void deny(const policy::Target& target, Port port);
  const std::unordered_map<std::string, DestinationUse>& named() const noexcept { return named_; }
  const DestinationUse& others() const noexcept { return others_; }
  DestinationUse total() const noexcept;

 private:
  DestinationUse& find(const policy::Target& target, Port port);
  bool make_room();

  std::unordered_map<std::string, DestinationUse> named_;  // by authority
  DestinationUse others_;
  // Whom the last call was for: mostly the next one is for the same. Points into named_ or to others_.
  std::optional<policy::Target> last_target_;
  Port last_port_ = Port::of(1);
  DestinationUse* last_use_ = nullptr;
};

}  // namespace sallyport::proxy
