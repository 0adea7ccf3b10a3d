#include "proxy/dns/task_dns.h"

#include <algorithm>

#include "core/dns/record_data.h"
#include "resolver/answers/special_names.h"

namespace sallyport::proxy {
namespace {

using policy::ReasonCode;
using Verdict = resolver::AnswerRecord::Verdict;

constexpr std::size_t kMaxRecorded = 4096;

ReasonCode reason_of(ResolveStatus status) {
  switch (status) {
    case ResolveStatus::kOk:
    case ResolveStatus::kNoAddress:
      return ReasonCode::kAllowed;
    case ResolveStatus::kNotFound:
      return ReasonCode::kNameNotFound;
    case ResolveStatus::kRefusedAddress:
      return ReasonCode::kAddressRefused;
    case ResolveStatus::kOverloaded:
      return ReasonCode::kOverloaded;
    default:
      return ReasonCode::kResolutionFailed;
  }
}

resolver::LookedUp looked_up(Resolved resolved) {
  auto ttl = std::min<std::chrono::seconds>(resolved.ttl, std::chrono::seconds(resolver::kAnswerTtl));
  return {.reason = reason_of(resolved.status),
          .text = std::move(resolved.detail),
          .addresses = std::move(resolved.addresses),
          .records = std::move(resolved.records),
          .ttl = static_cast<std::uint32_t>(ttl.count())};
}

}  // namespace

bool TaskDns::take_probe(std::span<const std::uint8_t> message, const net::Endpoint& destination) {
  auto parsed = dns::parse_query(message);
  auto* query = std::get_if<dns::Query>(&parsed);
  if (query == nullptr) return false;
  auto name = HostName::parse(query->question.name.escaped());
  if (!name) return false;
  auto call = firewall::parse_probe_query_name(name.value().text());
  if (!call) return false;
  report_({call.value(), destination, true});
  return true;
}

// What the policy says, and what is left of the budgets.
resolver::NameDecision TaskDns::decide(const HostName& name, dns::Type type) {
  bool addresses = type == dns::Type::kA || type == dns::Type::kAaaa;
  auto verdict = addresses ? task_.decide_name(name) : task_.decide_record(name, static_cast<policy::RecordType>(type));
  resolver::NameDecision decision{.reason = verdict.reason};
  if (verdict.allowed() && !addresses && !dns::has_record_data(type)) decision.reason = ReasonCode::kRecordTypeNotAllowed;
  if (decision.allowed()) {
    if (!task_.admit_name(name)) return {.reason = ReasonCode::kBudgetNames};
    decision.look_up = !addresses || verdict.real_addresses;
  } else if (task_.policy().denied_names() == policy::DeniedNames::kExplain && policy::category(decision.reason) == policy::Category::kPolicy) {
    decision.explain = task_.admit_name(name);
  }
  return decision;
}

resolver::Answered TaskDns::answer_for(std::span<const std::uint8_t> message, dns::Transport transport, std::span<std::uint8_t> out) {
  auto decide_it = [this](const HostName& name, dns::Type type) { return decide(name, type); };
  auto parsed = dns::parse_query(message);
  const auto* query = std::get_if<dns::Query>(&parsed);
  // The self-test's questions are not the task's.
  bool within = task_.phase() == Task::Phase::kAttached || task_.admit_query();
  if (!within && query != nullptr) return resolver::refuse_query(*query, ReasonCode::kBudgetQueries, transport, out);
  if (query == nullptr) return resolver::answer_message(message, transport, decide_it, task_.names(), out);
  auto answered = resolver::answer_query(*query, transport, decide_it, task_.names(), out);
  if (answered.pending && lookups_ >= kMaxLookups) return resolver::refuse_query(*query, ReasonCode::kOverloaded, transport, out);
  return answered;
}

TaskDns::Reply TaskDns::answer(std::span<const std::uint8_t> message, dns::Transport transport, const net::Endpoint& destination,
                               std::span<std::uint8_t> out) {
  if (task_.phase() == Task::Phase::kEnded) return {};
  if (task_.phase() == Task::Phase::kAttached && !take_probe(message, destination)) return {};
  auto answered = answer_for(message, transport, out);
  if (answered.pending) return {{}, std::move(answered.pending)};
  // What could not be recorded is not answered.
  if (task_.phase() == Task::Phase::kRunning && !record(answered.record)) return {};
  return {out.first(answered.size)};
}

Awaitable<std::span<const std::uint8_t>> TaskDns::look_up(resolver::PendingLookup pending, dns::Transport transport,
                                                          std::span<std::uint8_t> out) {
  ++lookups_;
  auto& resolver = task_.services().dialer.resolver();
  auto deadline = Deadline::after(kLookupTime);
  auto type = static_cast<std::uint16_t>(pending.query.question.type);
  auto asking = pending.wants_addresses() ? resolver.resolve(pending.name, task_.scope(), deadline)
                                          : resolver.resolve_records(pending.name, type, task_.scope(), deadline);
  auto resolved = co_await std::move(asking);
  --lookups_;
  if (task_.phase() != Task::Phase::kRunning) co_return std::span<const std::uint8_t>();
  auto found = looked_up(std::move(resolved));
  bool room = !pending.wants_addresses() || task_.real_addresses().learn(pending.name, found.addresses, Clock::now());
  if (!room) found = {.reason = ReasonCode::kOverloaded};
  auto answered = resolver::answer_looked_up(pending, found, transport, out);
  if (!record(answered.record)) co_return std::span<const std::uint8_t>();
  co_return out.first(answered.size);
}

// Tells a name that got its addresses, or was looked up for this type, from repetitions.
bool TaskDns::is_first(const resolver::AnswerRecord& r) {
  if (r.new_name) return true;
  bool special = !r.name || resolver::special_name(*r.name) != resolver::SpecialName::kNone;
  if (special || r.verdict != Verdict::kAnswered) return false;
  bool of_the_pool = (r.type == dns::Type::kA || r.type == dns::Type::kAaaa) && task_.names().knows(*r.name);
  if (of_the_pool) return false;
  if (looked_up_.size() >= kMaxRecorded) looked_up_.clear();
  return looked_up_.emplace(r.name->text(), r.type).second;
}

// Every refusal is recorded; an answer only the first time a name gets its addresses, since later ones tell nothing new.
bool TaskDns::record(const resolver::AnswerRecord& r) {
  bool refused = r.verdict == Verdict::kDenied || r.verdict == Verdict::kOverBudget || r.verdict == Verdict::kUnsupported ||
                 r.verdict == Verdict::kMalformed || r.verdict == Verdict::kFailed;
  if (!refused && !is_first(r)) return true;
  std::string asked = r.asked ? r.asked->escaped() : std::string();
  if (refused && r.name) {
    Decision d;
    d.layer = Layer::kDns;
    d.form = ClientForm::kCaught;
    d.reason = r.reason;
    policy::Target target(*r.name);
    d.target = &target;
    d.asked = asked;
    return task_.record(d).has_value();
  }
  audit::RecordBuilder b(audit::RecordKind::kDns, task_.id());
  b.text(audit::FieldId::kVerdict, refused ? "deny" : "allow").text(audit::FieldId::kNameAsked, asked);
  b.text(audit::FieldId::kReason, policy::to_string(r.reason));
  return task_.services().recorder.append(b).has_value();
}

}  // namespace sallyport::proxy
