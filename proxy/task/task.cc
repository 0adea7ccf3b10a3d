#include "proxy/task/task.h"

#include <algorithm>

#include "core/base/escape.h"
#include "resolver/answers/special_names.h"

namespace sallyport::proxy {
namespace {

using audit::FieldId;
using policy::ReasonCode;

void apply(AllowanceSet& set, const policy::Limits& limits, int rule, LeaseSource& leases, Executor executor) {
  if (limits.requests) set.limit(Resource::kRequests, rule, leases, executor);
  if (limits.connections_total) set.limit(Resource::kConnections, rule, leases, executor);
  if (limits.upload) set.limit(Resource::kUpload, rule, leases, executor);
  if (limits.download) set.limit(Resource::kDownload, rule, leases, executor);
}

// What stands above every policy: names that no rule may open.
std::optional<ReasonCode> floor_of(const HostName& name) {
  switch (resolver::special_name(name)) {
    case resolver::SpecialName::kFloor:
      return ReasonCode::kFloor;
    case resolver::SpecialName::kLocalhost:
    case resolver::SpecialName::kReverse:
    case resolver::SpecialName::kNowhere:
      return ReasonCode::kAddressRefused;
    default:
      return std::nullopt;
  }
}

// What `on_denial` counts: what the task asked for and may not have; not what was used up or did not work.
bool is_refusal(ReasonCode reason) {
  auto category = policy::category(reason);
  return category == policy::Category::kPolicy || category == policy::Category::kProtocol || category == policy::Category::kAddress;
}

std::string describe_what(const Decision& d) {
  std::string where = d.target ? d.target->authority(Port::of(d.port)) : escape_text(d.asked, 253);
  switch (d.layer) {
    case Layer::kDns:
      return "lookup " + (d.target ? d.target->text() : where);
    case Layer::kHttp:
      return asked_for(d);
    default:
      return "connect " + where;
  }
}

}  // namespace

Task::Task(const ThreadServices& services, TaskSettings settings)
    : services_(services), settings_(std::move(settings)), left_attached_(services.executor), allowances_(services.executor),
      name_budget_(settings_.policy->budgets().dns_names), scope_(services.executor, kMaxCoroutines) {
  const auto& budgets = settings_.policy->budgets();
  apply(allowances_, budgets.limits, -1, settings_.leases, services_.executor);
  auto rules = settings_.policy->rules();
  rule_allowances_.resize(rules.size());
  rule_open_.resize(rules.size());
  for (const auto& rule : rules) {
    if (rule.limits == policy::Limits{}) continue;
    rule_allowances_[rule.index] = std::make_unique<AllowanceSet>(services_.executor);
    apply(*rule_allowances_[rule.index], rule.limits, static_cast<int>(rule.index), settings_.leases, services_.executor);
  }
}

void Task::begin_end(async::CancelReason reason) noexcept {
  phase_ = Phase::kEnded;
  left_attached_.notify_all();
  allowances_.close();
  for (auto& set : rule_allowances_)
    if (set) set->close();
  scope_.cancel(reason);
}

Awaitable<void> Task::started() {
  while (phase_ == Phase::kAttached) {
    auto wait = left_attached_.wait();
    co_await std::move(wait);
  }
}

Awaitable<void> Task::end(async::CancelReason reason) {
  begin_end(reason);
  auto closing = scope_.close(reason);
  co_await std::move(closing);
  pool_.clear();
}

policy::NameVerdict Task::decide_name(const HostName& name) const {
  if (auto floor = floor_of(name)) {
    policy::NameVerdict denied;
    denied.reason = *floor;
    return denied;
  }
  return policy::decide_name(*settings_.policy, name);
}

policy::NameVerdict Task::decide_record(const HostName& name, policy::RecordType type) const {
  if (auto floor = floor_of(name)) {
    policy::NameVerdict denied;
    denied.reason = *floor;
    return denied;
  }
  return policy::decide_record(*settings_.policy, name, type);
}

bool Task::admit_query() {
  auto most = settings_.policy->budgets().dns_queries;
  if (!most || dns_queries < *most) {
    ++dns_queries;
    return true;
  }
  limit_reached("dns.queries", -1);
  return false;
}

bool Task::admit_name(const HostName& name) {
  if (name_budget_.admit(name)) return true;
  limit_reached("dns.names", -1);
  return false;
}

policy::ConnectionVerdict Task::decide_connection(const policy::ConnectionRequest& request) const {
  if (const HostName* name = request.target.host()) {
    if (auto floor = floor_of(*name)) {
      policy::ConnectionVerdict denied;
      denied.reason = *floor;
      return denied;
    }
  }
  return policy::decide_connection(*settings_.policy, request);
}

policy::HttpVerdict Task::decide_http(const policy::HttpRequest& request) const {
  if (const HostName* name = request.target.host()) {
    if (auto floor = floor_of(*name)) {
      policy::HttpVerdict denied;
      denied.reason = *floor;
      return denied;
    }
  }
  return policy::decide_http(*settings_.policy, request);
}

AllowanceSet* Task::rule_allowances(std::uint32_t rule) noexcept {
  return rule < rule_allowances_.size() ? rule_allowances_[rule].get() : nullptr;
}

LimitSet Task::limits(const policy::RuleRef& rule) noexcept { return {allowances_, rule_allowances(rule.index)}; }

Result<ConnectionSlot> Task::open_slot(const policy::RuleRef& rule) {
  const auto& task_limit = settings_.policy->budgets().limits.connections_concurrent;
  const auto& rule_limit = settings_.policy->rules()[rule.index].limits.connections_concurrent;
  // Idle kept-alive connections make room before anything is refused.
  while (task_limit && open_ >= *task_limit && pool_.drop_one()) {
  }
  if (task_limit && open_ >= *task_limit) {
    limit_reached("connections.concurrent", -1);
    return fail(ErrorKind::kOverloaded, "the task's concurrent connections are used up");
  }
  while (rule_limit && rule_open_[rule.index] >= *rule_limit && pool_.drop_one()) {
  }
  if (rule_limit && rule_open_[rule.index] >= *rule_limit) {
    limit_reached("connections.concurrent", static_cast<int>(rule.index));
    return fail(ErrorKind::kOverloaded, "the rule's concurrent connections are used up");
  }
  return ConnectionSlot(&open_, &rule_open_[rule.index]);
}

Deadline Task::connection_deadline(const policy::RuleRef& rule, Clock::time_point opened) const noexcept {
  auto deadline = Deadline::never();
  if (auto limit = settings_.policy->budgets().limits.duration) deadline = deadline.earlier(Deadline(opened + *limit));
  if (auto limit = settings_.policy->rules()[rule.index].limits.duration) deadline = deadline.earlier(Deadline(opened + *limit));
  return deadline;
}

int Task::duration_owner(const policy::RuleRef& rule) const noexcept {
  auto of_task = settings_.policy->budgets().limits.duration;
  auto of_rule = settings_.policy->rules()[rule.index].limits.duration;
  return of_rule && (!of_task || *of_rule < *of_task) ? static_cast<int>(rule.index) : -1;
}

void Task::limit_reached(std::string_view limit, int rule) {
  std::string key = std::string(limit) + "#" + std::to_string(rule);
  if (std::ranges::find(limits_told_, key) != limits_told_.end()) return;
  limits_told_.push_back(std::move(key));
  settings_.limit_reached(limit, rule);
}

Result<RecordedDecision> Task::record(const Decision& d) {
  std::string id = "d" + std::to_string(++decisions_);
  audit::RecordBuilder r(audit::RecordKind::kDecision, settings_.id);
  r.text(FieldId::kVerdict, d.allowed() ? "allow" : "deny").text(FieldId::kReason, policy::to_string(d.reason));
  r.text(FieldId::kLayer, to_string(d.layer)).text(FieldId::kClientForm, to_string(d.form)).text(FieldId::kDecisionId, id);
  if (d.connection != 0) r.number(FieldId::kConnectionId, d.connection);
  if (d.rule) r.text(FieldId::kRule, d.rule->id);
  if (d.nearest) r.text(FieldId::kNearestRule, d.nearest->id);
  std::string address;
  if (d.target) r.text(FieldId::kNameUsed, d.target->text(address));
  if (!d.asked.empty()) r.text(FieldId::kNameAsked, d.asked);
  if (d.port != 0) r.number(FieldId::kPort, d.port);
  if (!d.destination.empty()) r.text(FieldId::kDestination, d.destination);
  if (!d.method.empty()) r.text(FieldId::kMethod, d.method);
  if (!d.path.empty()) r.text(FieldId::kPath, d.path);
  if (!d.sni.empty()) r.text(FieldId::kSni, d.sni);
  if (!d.detail.empty()) r.text(FieldId::kError, d.detail);
  auto appended = services_.recorder.append(r);
  if (!d.allowed()) {
    DenialEntry denial{describe_what(d), d.reason, d.nearest ? std::string(d.nearest->id) : std::string(), id, 1};
    if (d.target) denial.target = *d.target;
    if (d.layer != Layer::kDns) denial.port = d.port;
    if (!d.path.empty()) denial.method = d.method, denial.path = d.path;
    denials_.add(std::move(denial));
    if (d.target) destinations_.deny(*d.target, Port::of(d.port));
    auto end_after = settings_.policy->end_after();
    if (end_after && is_refusal(d.reason) && ++refusals_ >= *end_after) limit_reached("denials", -1);
  }
  if (!appended) return fail(std::move(appended).error());
  return RecordedDecision{std::move(id), appended.value()};
}

}  // namespace sallyport::proxy
