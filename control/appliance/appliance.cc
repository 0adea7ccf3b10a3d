#include "control/appliance/appliance.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "core/ipc/message.h"

namespace sallyport::control {
namespace {

using Kind = ApplianceEvent::Kind;

// Where bytes were written once and can never change again.
Result<UniqueFd> sealed_file(const std::string& text) {
  UniqueFd file(::memfd_create("policy", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return fail_errno("memfd");
  for (std::size_t at = 0; at < text.size();) {
    auto written = ::write(file.get(), text.data() + at, text.size() - at);
    if (written <= 0) return fail_errno("memfd");
    at += static_cast<std::size_t>(written);
  }
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) return fail_errno("seal a memfd");
  return file;
}

std::string resource_text(proxy::api::Resource resource) {
  switch (resource) {
    case proxy::api::REQUESTS: return "requests";
    case proxy::api::CONNECTIONS: return "connections";
    case proxy::api::UPLOAD: return "upload";
    case proxy::api::DOWNLOAD: return "download";
    default: return "";
  }
}

Result<CounterKey> key_of(const proxy::api::CounterKey& counter) {
  BOOST_OUTCOME_TRY(auto task, TaskId::parse(counter.task()));
  return CounterKey{task, resource_text(counter.resource()), counter.rule()};
}

void add_watch(std::vector<pollfd>& out, const Daemon& daemon) {
  if (daemon.channel.is_open()) out.push_back({daemon.channel.fd(), POLLIN, 0});
  if (!daemon.process.ended()) out.push_back({daemon.process.pidfd(), POLLIN, 0});
}

}  // namespace

Appliance::~Appliance() { stop(Deadline::after(std::chrono::seconds(3))); }

void Appliance::stop(Deadline deadline) noexcept {
  if (stopping_) return;
  stopping_ = true;
  proxy_.stop(deadline);
  resolver_.stop(deadline);
  audit_.stop(deadline);  // last: it drains what the others left in the ring
}

Result<void> Appliance::wait_until(const Daemon& from, Deadline deadline, const std::function<bool()>& done) {
  for (;;) {
    take_from_proxy();
    take_from_audit();
    if (done()) return success();
    if (!from.channel.is_open()) return fail(ErrorKind::kUnavailable, from.name + " has ended");
    auto now = Clock::now();
    if (deadline.passed(now)) return fail(ErrorKind::kTimedOut, from.name + " did not answer in time");
    wait_for_something(deadline);
  }
}

void Appliance::wait_for_something(Deadline deadline) {
  auto fds = watches();
  (void)::poll(fds.data(), fds.size(), std::min(100, deadline.poll_timeout(Clock::now())));
  // A daemon that has ended is reaped here: its descriptor would stay readable and make this a spin.
  take_ended(resolver_);
  take_ended(audit_);
  take_ended(proxy_);
}

Result<void> Appliance::set_limits(const NewTask& task) {
  auto set = [&](const policy::Limits& limits, int rule) -> Result<void> {
    if (limits.requests) {
      BOOST_OUTCOME_TRY(ledger_.set_limit({task.id, "requests", rule}, *limits.requests));
    }
    if (limits.connections_total) {
      BOOST_OUTCOME_TRY(ledger_.set_limit({task.id, "connections", rule}, *limits.connections_total));
    }
    if (limits.upload) {
      BOOST_OUTCOME_TRY(ledger_.set_limit({task.id, "upload", rule}, limits.upload->value));
    }
    if (limits.download) {
      BOOST_OUTCOME_TRY(ledger_.set_limit({task.id, "download", rule}, limits.download->value));
    }
    return success();
  };
  BOOST_OUTCOME_TRY(set(task.policy->budgets().limits, -1));
  for (const auto& rule : task.policy->rules()) {
    BOOST_OUTCOME_TRY(set(rule.limits, static_cast<int>(rule.index)));
  }
  return success();
}

Result<void> Appliance::allow_task_log(const TaskId& task, Deadline deadline) {
  audit::api::ToAudit message;
  message.mutable_allow_task()->set_ring(ring_id_);
  message.mutable_allow_task()->set_task(std::string(task.text()));
  return ipc::send_message(audit_.channel, message, {}, deadline);
}

Result<void> Appliance::add_task(NewTask task, Deadline deadline) {
  BOOST_OUTCOME_TRY(set_limits(task));
  BOOST_OUTCOME_TRY(allow_task_log(task.id, deadline));
  BOOST_OUTCOME_TRY(auto policy, sealed_file(task.policy_text));
  proxy::api::ToProxy message;
  auto& add = *message.mutable_add_task();
  add.set_task(std::string(task.id.text()));
  add.set_policy_file(task.policy_file);
  add.set_pool4(task.pool4.text());
  add.set_pool6(task.pool6.text());
  std::vector<int> fds{policy.get()};
  UniqueFd ceiling;
  if (!task.ceiling_file.empty()) {
    BOOST_OUTCOME_TRY(ceiling, sealed_file(task.ceiling_text));
    add.set_ceiling_file(task.ceiling_file);
    fds.push_back(ceiling.get());
  }
  for (const auto& listener : task.listeners) {
    add.add_listeners(listener.kind);
    fds.push_back(listener.socket.get());
  }
  BOOST_OUTCOME_TRY(ipc::send_message(proxy_.channel, message, fds, deadline));
  BOOST_OUTCOME_TRY(auto added, wait_for(task_added_, proxy_, deadline));
  if (!added.error().empty()) return fail(ErrorKind::kInvalid, "the proxy refuses the task: " + added.error());
  return success();
}

Result<void> Appliance::expect_probes(const TaskId& task, const firewall::Nonce& nonce, Deadline deadline) {
  proxy::api::ToProxy message;
  message.mutable_expect_probes()->set_task(std::string(task.text()));
  message.mutable_expect_probes()->set_nonce(nonce.hex());
  return ipc::send_message(proxy_.channel, message, {}, deadline);
}

std::vector<firewall::ProbeRecord> Appliance::seen_probes(const firewall::Nonce& nonce, std::size_t expected, Deadline deadline) {
  for (;;) {
    take_from_proxy();
    auto now = Clock::now();
    if (probes_.size() >= expected || deadline.passed(now) || !proxy_.channel.is_open()) break;
    wait_for_something(deadline);
  }
  std::vector<firewall::ProbeRecord> out;
  for (const auto& seen : probes_) {
    auto seen_nonce = firewall::Nonce::parse(seen.nonce());
    auto probe = firewall::probe_of(seen.probe());
    auto destination = IpAddress::parse(seen.destination());
    if (!seen_nonce || !(seen_nonce.value() == nonce) || !probe || !destination) continue;
    out.push_back({seen_nonce.value(), *probe, destination.value(), static_cast<std::uint16_t>(seen.port())});
  }
  probes_.clear();
  return out;
}

Result<void> Appliance::run_task(const TaskId& task, Deadline deadline) {
  proxy::api::ToProxy message;
  message.mutable_run_task()->set_task(std::string(task.text()));
  return ipc::send_message(proxy_.channel, message, {}, deadline);
}

Result<proxy::api::TaskEnded> Appliance::end_task(const TaskId& task, Deadline deadline) {
  proxy::api::ToProxy message;
  message.mutable_end_task()->set_task(std::string(task.text()));
  // A response that waits for an audit process that is gone does not end, and its task does not either.
  if (!audit_.channel.is_open()) deadline = deadline.earlier(Deadline::after(std::chrono::seconds(1)));
  BOOST_OUTCOME_TRY(ipc::send_message(proxy_.channel, message, {}, deadline));
  BOOST_OUTCOME_TRY(auto ended, wait_for(task_ended_, proxy_, deadline));
  for (const auto& unused : ended.unused()) {
    BOOST_OUTCOME_TRY(auto key, key_of(unused.counter()));
    BOOST_OUTCOME_TRY(ledger_.give_back(key, unused.amount()));
  }
  return ended;
}

Result<void> Appliance::append_record(const audit::RecordBuilder& record, Deadline deadline) {
  audit::api::ToAudit message;
  auto bytes = record.record().bytes;
  message.mutable_append()->set_record(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  return ipc::send_message(audit_.channel, message, {}, deadline);
}

Result<audit::api::TaskEnded> Appliance::end_task_log(const TaskId& task, Deadline deadline) {
  audit::api::ToAudit message;
  message.mutable_end_task()->set_task(std::string(task.text()));
  BOOST_OUTCOME_TRY(ipc::send_message(audit_.channel, message, {}, deadline));
  return wait_for(log_ended_, audit_, deadline);
}

std::vector<pollfd> Appliance::watches() const {
  std::vector<pollfd> out;
  add_watch(out, resolver_);
  add_watch(out, audit_);
  add_watch(out, proxy_);
  return out;
}

void Appliance::answer_lease(const proxy::api::LeaseRequest& request) {
  proxy::api::ToProxy answer;
  auto& reply = *answer.mutable_lease();
  *reply.mutable_counter() = request.counter();
  auto key = key_of(request.counter());
  auto lease = key ? ledger_.lease(key.value(), request.want()) : Result<Lease>(fail(key.error()));
  // What the ledger cannot count is not given.
  reply.set_granted(lease ? lease.value().granted : 0);
  reply.set_final(lease ? lease.value().final : true);
  if (!lease) events_.push_back({Kind::kAuditTrouble, lease.error().detail});
  (void)ipc::send_message(proxy_.channel, answer, {}, Deadline::after(std::chrono::seconds(1)));
}

void Appliance::take_from_proxy() {
  while (proxy_.channel.is_open()) {
    auto received = ipc::try_receive_message<proxy::api::FromProxy>(proxy_.channel);
    if (!received) return;
    auto& message = received.value().message;
    switch (message.kind_case()) {
      case proxy::api::FromProxy::kReady: proxy_ready_ = message.ready(); break;
      case proxy::api::FromProxy::kTaskAdded: task_added_ = message.task_added(); break;
      case proxy::api::FromProxy::kTaskEnded: task_ended_ = message.task_ended(); break;
      case proxy::api::FromProxy::kProbeSeen:
        if (probes_.size() < 256) probes_.push_back(message.probe_seen());
        break;
      case proxy::api::FromProxy::kLease: answer_lease(message.lease()); break;
      case proxy::api::FromProxy::kLimit: events_.push_back({Kind::kLimitReached, message.limit().limit()}); break;
      case proxy::api::FromProxy::kListenerLost: events_.push_back({Kind::kListenerLost, message.listener_lost().listener()}); break;
      default: proxy_.channel.close(); break;
    }
  }
}

void Appliance::take_from_audit() {
  while (audit_.channel.is_open()) {
    auto received = ipc::try_receive_message<audit::api::FromAudit>(audit_.channel);
    if (!received) return;
    auto& message = received.value().message;
    switch (message.message_case()) {
      case audit::api::FromAudit::kReady: audit_ready_ = message.ready(); break;
      case audit::api::FromAudit::kRingRegistered: ring_registered_ = message.ring_registered(); break;
      case audit::api::FromAudit::kTaskEnded: log_ended_ = message.task_ended(); break;
      case audit::api::FromAudit::kTaskOverBudget: events_.push_back({Kind::kTaskOverAuditBudget, message.task_over_budget().task()}); break;
      case audit::api::FromAudit::kRingCorrupt: events_.push_back({Kind::kAuditTrouble, message.ring_corrupt().what()}); break;
      case audit::api::FromAudit::kDiskState:
        if (!message.disk_state().writable()) events_.push_back({Kind::kAuditTrouble, message.disk_state().error()});
        break;
      case audit::api::FromAudit::kRingClosed:
      case audit::api::FromAudit::kFlushed: break;
      default: audit_.channel.close(); break;
    }
  }
}

void Appliance::take_ended(Daemon& daemon) {
  auto status = daemon.process.try_wait();
  if (!status || !status.value() || stopping_) return;
  if (std::ranges::find(told_, daemon.name) != told_.end()) return;
  told_.push_back(daemon.name);
  daemon.channel.close();
  events_.push_back({Kind::kDaemonEnded, daemon.name + " " + status.value()->text()});
}

std::vector<ApplianceEvent> Appliance::take_events() {
  take_from_proxy();
  take_from_audit();
  // A resolver says nothing after Ready: something readable there is its end.
  take_ended(resolver_);
  take_ended(audit_);
  take_ended(proxy_);
  std::vector<ApplianceEvent> out(events_.begin(), events_.end());
  events_.clear();
  return out;
}

}  // namespace sallyport::control
