// NameBudget: how many distinct names a task has used, by looking them up or connecting to them. What is carried out in the
// labels of names that a wildcard allows is bounded by it (dns-003).
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>

#include "core/base/host_name.h"

namespace sallyport::proxy {

class NameBudget {
 public:
  // Without a limit nothing is kept and everything admitted.
  explicit NameBudget(std::optional<std::uint64_t> most) noexcept : most_(most) {}

  // True if the name was used before, which costs nothing, or there is room for one more.
  bool admit(const HostName& name);
  std::uint64_t used() const noexcept { return names_.size(); }

 private:
  std::optional<std::uint64_t> most_;
  std::unordered_set<HostName> names_;
};

}  // namespace sallyport::proxy
