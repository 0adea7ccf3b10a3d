// Allowance: what is left of one counter (a task's or a rule's requests, connections, bytes) in this process.
//
// The ledger in control hands out slices; a slice counts as spent there before any of it may be used here, so a
// crash can lose allowance but never exceed a budget. Exact: nothing is used that was not taken, and what was taken and not used
// is put back. Lives on its task's home thread; no locks.
#pragma once

#include <cstdint>

#include "core/async/awaitable.h"
#include "core/async/event.h"

namespace sallyport::proxy {

enum class Resource : std::uint8_t { kRequests, kConnections, kUpload, kDownload };
inline constexpr std::size_t kResources = 4;

// "requests", "connections", "upload", "download": as in policies, answers and records.
std::string_view to_string(Resource resource) noexcept;

// Asks the ledger for more of a counter. The answer arrives later by Allowance::granted. Must outlive its allowances.
class LeaseSource {
 public:
  virtual ~LeaseSource() = default;
  // `rule`: index of the rule, -1 for the task's own budget.
  virtual void request_lease(Resource resource, int rule, std::uint64_t want) noexcept = 0;
};

class Allowance {
 public:
  // Without a limit: take gives whatever is asked and nothing is leased.
  explicit Allowance(Executor executor) : source_(nullptr), resource_(Resource::kRequests), rule_(-1), changed_(executor) {}
  Allowance(Executor executor, LeaseSource& source, Resource resource, int rule)
      : source_(&source), resource_(resource), rule_(rule), changed_(executor) {}

  // Takes at most `want`, at once. 0 means: ask again by take(), or exhausted.
  std::uint64_t take_now(std::uint64_t want) noexcept;
  // Takes between 1 and `want`, waiting for the ledger if need be. 0: the limit is reached (or the task ends).
  Awaitable<std::uint64_t> take(std::uint64_t want);
  // Waits until something is here to be taken, having asked for `want`; takes nothing. False: the limit is reached (or the task ends).
  Awaitable<bool> wait_for_some(std::uint64_t want);
  // Gives back what was taken and not used.
  void put_back(std::uint64_t amount) noexcept;

  // The ledger's answer. `final`: it has no more.
  void granted(std::uint64_t amount, bool final) noexcept;
  // No more will come: waiting takes end with 0.
  void close() noexcept;

  bool limited() const noexcept { return source_ != nullptr; }
  bool exhausted() const noexcept { return limited() && final_ && available_ == 0; }
  // Held here and unused; given back to the ledger at the end of the task.
  std::uint64_t available() const noexcept { return limited() ? available_ : 0; }
  // As much as take_now would give.
  std::uint64_t on_hand() const noexcept { return limited() ? available_ : UINT64_MAX; }
  // Taken and not put back.
  std::uint64_t used() const noexcept { return used_; }

 private:
  std::uint64_t slice() const noexcept;
  void ask(std::uint64_t want) noexcept;

  LeaseSource* source_;
  Resource resource_;
  int rule_;
  std::uint64_t available_ = 0;
  std::uint64_t used_ = 0;
  bool asked_ = false;
  bool final_ = false;
  async::Event changed_;
};

}  // namespace sallyport::proxy
