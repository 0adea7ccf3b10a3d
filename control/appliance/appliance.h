// Appliance: resolver, audit and proxy of one owner, started, connected and watched. `run`, `attach` and `proxy --listen` stand on it.
//
// Blocking calls with deadlines; between them poll watches() and call take_events(), which also answers the proxy's leases from
// the ledger. One thread.
#pragma once

#include <poll.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/appliance/daemon.h"
#include "control/audit/api/audit.pb.h"
#include "control/config/appliance_config.h"
#include "control/ledger/ledger.h"
#include "core/audit/ring.h"
#include "core/sys/directory.h"
#include "firewall/api/verify_probes.h"
#include "policies/engine/policy.h"
#include "proxy/api/proxy.pb.h"

namespace sallyport::control {

struct ApplianceOptions {
  std::string libexec;  // where the programs are
  ApplianceConfig config;
  std::string owner;                     // security principal, for the log
  std::vector<std::string> own_sockets;  // "address:port" of listeners in this network namespace
};

struct TaskListenerFd {
  proxy::api::Listener kind;
  UniqueFd socket;
};

struct NewTask {
  TaskId id;
  std::string policy_text;  // empty: no policy, all is denied
  std::string policy_file;
  std::shared_ptr<const policy::CompiledPolicy> policy;
  IpPrefix pool4, pool6;
  std::vector<TaskListenerFd> listeners;
  std::string ceiling_text = {};  // of the policy above it; without `ceiling_file` there is none
  std::string ceiling_file = {};
};

// Something that control must know of.
struct ApplianceEvent {
  enum class Kind { kDaemonEnded, kLimitReached, kListenerLost, kTaskOverAuditBudget, kAuditTrouble };
  Kind kind;
  std::string what;  // the daemon's name and how it ended; the limit; the listener; …
};

class Appliance {
 public:
  static constexpr std::string_view kAuditLog = "audit.jsonl";

  // Writes its audit log, its ledger and its daemons' log into `state`, which must outlive it.
  static Result<std::unique_ptr<Appliance>> start(ApplianceOptions options, const sys::PrivateDirectory& state, Deadline deadline);
  ~Appliance();
  Appliance(const Appliance&) = delete;
  Appliance& operator=(const Appliance&) = delete;

  // Hands the task to the proxy; it serves probes only until run_task().
  Result<void> add_task(NewTask task, Deadline deadline);
  Result<void> expect_probes(const TaskId& task, const firewall::Nonce& nonce, Deadline deadline);
  // What the proxy has recorded of the probes; waits until `expected` have come or the deadline.
  std::vector<firewall::ProbeRecord> seen_probes(const firewall::Nonce& nonce, std::size_t expected, Deadline deadline);
  Result<void> run_task(const TaskId& task, Deadline deadline);
  // Ends it in the proxy and gives what was not used back to the ledger. kUnavailable when the proxy is gone.
  Result<proxy::api::TaskEnded> end_task(const TaskId& task, Deadline deadline);

  // A record of control's own.
  Result<void> append_record(const audit::RecordBuilder& record, Deadline deadline);
  // Everything of the task is on disk when it returns.
  Result<audit::api::TaskEnded> end_task_log(const TaskId& task, Deadline deadline);
  Result<void> allow_task_log(const TaskId& task, Deadline deadline);

  // What to poll for.
  std::vector<pollfd> watches() const;
  std::vector<ApplianceEvent> take_events();
  bool proxy_alive() const noexcept { return proxy_.channel.is_open(); }

  // Ends the daemons, audit last, within about `deadline`. Also by the destructor.
  void stop(Deadline deadline) noexcept;
  const std::string& audit_path() const noexcept { return audit_path_; }

 private:
  Appliance(ApplianceOptions options, Ledger ledger, Daemon resolver, Daemon audit, Daemon proxy);
  Result<void> introduce(const sys::PrivateDirectory& state, Deadline deadline);
  Result<void> start_resolver(int proxy_end, const std::vector<IpAddress>& own, Deadline deadline);
  Result<void> start_audit(const sys::PrivateDirectory& state, Deadline deadline);
  Result<void> start_proxy(int resolver_end, const std::vector<IpAddress>& own, Deadline deadline);
  Result<void> set_limits(const NewTask& task);

  void wait_for_something(Deadline deadline);
  void take_from_proxy();
  void take_from_audit();
  void take_ended(Daemon& daemon);
  void answer_lease(const proxy::api::LeaseRequest& request);
  // Handles what arrives until `done` holds. kUnavailable once `from` has ended, kTimedOut at the deadline.
  Result<void> wait_until(const Daemon& from, Deadline deadline, const std::function<bool()>& done);
  template <class Message>
  Result<Message> wait_for(std::optional<Message>& slot, const Daemon& from, Deadline deadline) {
    BOOST_OUTCOME_TRY(wait_until(from, deadline, [&slot] { return slot.has_value(); }));
    Message message = std::move(*slot);
    slot.reset();
    return message;
  }

  ApplianceOptions options_;
  Ledger ledger_;
  audit::RingDescriptors ring_;
  std::uint64_t ring_id_ = 0;
  Daemon resolver_, audit_, proxy_;
  std::string audit_path_;
  std::deque<ApplianceEvent> events_;
  std::vector<std::string> told_;  // daemons whose end was reported
  bool stopping_ = false;

  // Answers that a blocking call waits for.
  std::optional<proxy::api::TaskAdded> task_added_;
  std::optional<proxy::api::TaskEnded> task_ended_;
  std::optional<proxy::api::Ready> proxy_ready_;
  std::optional<audit::api::Ready> audit_ready_;
  std::optional<audit::api::RingRegistered> ring_registered_;
  std::optional<audit::api::TaskEnded> log_ended_;
  std::vector<proxy::api::ProbeSeen> probes_;
};

}  // namespace sallyport::control
