// Task: one task's policy, names, budgets, counters and open work, on its home thread.
//
// A connection belongs to the task whose listener accepted it; nothing else identifies a task. Created by control's AddTask,
// serves probes only until run(), and nothing any more after end(). Not thread-safe; owned by the control link.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/async/event.h"
#include "core/async/task_scope.h"
#include "core/base/ids.h"
#include "core/net/relay_pool.h"
#include "policies/engine/decide.h"
#include "policies/engine/policy.h"
#include "proxy/limits/limit_set.h"
#include "proxy/recorder/recorder.h"
#include "proxy/task/decision.h"
#include "proxy/task/denial_log.h"
#include "proxy/task/destinations.h"
#include "proxy/task/name_budget.h"
#include "proxy/task/real_addresses.h"
#include "proxy/upstream/dialer.h"
#include "proxy/upstream/upstream_pool.h"
#include "resolver/answers/synthetic_pool.h"

namespace sallyport::proxy {

// What a proxy thread lends to its tasks. All outlive every task.
struct ThreadServices {
  Executor executor;
  async::DeadlineWheel& wheel;
  Recorder& recorder;
  Dialer& dialer;
  net::RelayPool& relays;
};

struct TaskSettings {
  TaskId id;
  std::shared_ptr<const policy::CompiledPolicy> policy;
  resolver::SyntheticPool names;
  LeaseSource& leases;
  // Told once for each limit that fires.
  std::function<void(std::string_view limit, int rule)> limit_reached;
};

class Task {
 public:
  enum class Phase : std::uint8_t { kAttached, kRunning, kEnded };
  static constexpr std::size_t kMaxClientConnections = 12'000;
  static constexpr std::size_t kMaxCoroutines = 3 * kMaxClientConnections;

  Task(const ThreadServices& services, TaskSettings settings);

  const TaskId& id() const noexcept { return settings_.id; }
  const policy::CompiledPolicy& policy() const noexcept { return *settings_.policy; }
  std::shared_ptr<const policy::CompiledPolicy> policy_snapshot() const noexcept { return settings_.policy; }
  resolver::SyntheticPool& names() noexcept { return settings_.names; }
  UpstreamPool& pool() noexcept { return pool_; }
  DenialLog& denials() noexcept { return denials_; }
  Destinations& destinations() noexcept { return destinations_; }
  async::TaskScope& scope() noexcept { return scope_; }
  const ThreadServices& services() const noexcept { return services_; }

  Phase phase() const noexcept { return phase_; }
  // An ended task stays ended.
  void run() noexcept {
    if (phase_ == Phase::kAttached) phase_ = Phase::kRunning;
    left_attached_.notify_all();
  }
  // Waits while the task is only attached.
  Awaitable<void> started();
  // Refuses new work, aborts what is open (with resets).
  void begin_end(async::CancelReason reason) noexcept;
  // The same, then joins. At most one caller at a time: the task may be destroyed when it returns.
  Awaitable<void> end(async::CancelReason reason);

  // The policy's word, with the floor above it.
  policy::NameVerdict decide_name(const HostName& name) const;
  policy::NameVerdict decide_record(const HostName& name, policy::RecordType type) const;
  policy::ConnectionVerdict decide_connection(const policy::ConnectionRequest& request) const;
  policy::HttpVerdict decide_http(const policy::HttpRequest& request) const;

  // Budget of the task and, where the rule has limits, of the rule.
  LimitSet limits(const policy::RuleRef& rule) noexcept;
  AllowanceSet& allowances() noexcept { return allowances_; }
  AllowanceSet* rule_allowances(std::uint32_t rule) noexcept;
  // kOverloaded when the concurrent limit of the task or rule is reached; which one, limit_reached has been told.
  Result<ConnectionSlot> open_slot(const policy::RuleRef& rule);
  // Upstream connections that are open now, kept ones among them; of a rule with limits.
  std::uint64_t open_connections() const noexcept { return open_; }
  std::uint64_t open_connections(std::uint32_t rule) const noexcept { return rule_open_[rule]; }
  // The moment a connection accepted now must end; never() without such a limit.
  Deadline connection_deadline(const policy::RuleRef& rule, Clock::time_point opened) const noexcept;
  // Whose limit that moment is: the rule's, or the task's (-1).
  int duration_owner(const policy::RuleRef& rule) const noexcept;
  std::optional<std::chrono::seconds> idle_limit() const noexcept { return settings_.policy->budgets().idle; }
  void limit_reached(std::string_view limit, int rule);

  std::uint64_t next_connection() noexcept { return ++connections_; }
  // Counts a DNS question, or a name that is looked up or connected to. False: the budget of them is used up.
  bool admit_query();
  bool admit_name(const HostName& name);
  RealAddresses& real_addresses() noexcept { return real_addresses_; }
  std::uint64_t dns_queries = 0;
  std::size_t clients = 0;  // open client connections
  net::RelayShare relay_share;
  DialShare dial_share;

  // Appends the record; a denial also enters the log and the counters. kOverloaded or kUnavailable: it must not happen.
  Result<RecordedDecision> record(const Decision& decision);

 private:
  ThreadServices services_;
  TaskSettings settings_;
  Phase phase_ = Phase::kAttached;
  async::Event left_attached_;
  AllowanceSet allowances_;
  std::vector<std::unique_ptr<AllowanceSet>> rule_allowances_;  // null for rules without limits
  std::uint64_t open_ = 0;
  std::vector<std::uint64_t> rule_open_;
  UpstreamPool pool_;
  DenialLog denials_;
  std::uint64_t refusals_ = 0;  // for `on_denial`
  Destinations destinations_;
  NameBudget name_budget_;
  RealAddresses real_addresses_;
  std::uint64_t connections_ = 0;
  std::uint64_t decisions_ = 0;
  std::vector<std::string> limits_told_;
  async::TaskScope scope_;
};

}  // namespace sallyport::proxy
