// LimitSet: the allowances that one connection or request draws on: its task's and its rule's, taken together.
#pragma once

#include <array>
#include <memory>

#include "proxy/limits/allowance.h"

namespace sallyport::proxy {

// One allowance for each resource. Owned by a task, one for itself and one for each rule with limits.
struct AllowanceSet {
  explicit AllowanceSet(Executor executor);
  // Makes `resource` limited: it starts empty and leases from `source`.
  void limit(Resource resource, int rule, LeaseSource& source, Executor executor);
  Allowance& of(Resource resource) noexcept { return *each[static_cast<std::size_t>(resource)]; }
  const Allowance& of(Resource resource) const noexcept { return *each[static_cast<std::size_t>(resource)]; }
  void close() noexcept;

  std::array<std::unique_ptr<Allowance>, kResources> each;
};

// What a take came to. `amount` 0: a limit is reached; whose, says `rule_limit`.
struct Taken {
  std::uint64_t amount = 0;
  bool rule_limit = false;
};

// Borrows both sets; `rule` may be null. Copyable.
class LimitSet {
 public:
  LimitSet(AllowanceSet& task, AllowanceSet* rule) noexcept : task_(&task), rule_(rule) {}

  // True if either bounds `resource`: then what is taken should be used at once, for others it is missing.
  bool limited(Resource resource) const noexcept {
    return task_->of(resource).limited() || (rule_ != nullptr && rule_->of(resource).limited());
  }
  // As much as both have here, for a look before taking.
  std::uint64_t on_hand(Resource resource) const noexcept;
  // Takes at most `want` of both, the same amount of each, of what is here. 0: ask by take().
  std::uint64_t take_now(Resource resource, std::uint64_t want) noexcept;
  // The same, between 1 and `want`, waiting for the ledger if need be; of neither anything is held meanwhile.
  Awaitable<Taken> take(Resource resource, std::uint64_t want);
  // Waits until take_now would give something; takes nothing. `amount` 0: a limit is reached.
  Awaitable<Taken> wait_for_some(Resource resource, std::uint64_t want);
  // All of `want` or nothing.
  Awaitable<Taken> take_all(Resource resource, std::uint64_t want);
  void put_back(Resource resource, std::uint64_t amount) noexcept;

 private:
  AllowanceSet* task_;
  AllowanceSet* rule_;
};

}  // namespace sallyport::proxy
