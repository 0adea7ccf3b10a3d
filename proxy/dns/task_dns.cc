#include "proxy/dns/task_dns.h"

namespace sallyport::proxy {
namespace {

using Verdict = resolver::AnswerRecord::Verdict;

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

std::span<const std::uint8_t> TaskDns::answer(std::span<const std::uint8_t> message, dns::Transport transport,
                                              const net::Endpoint& destination, std::span<std::uint8_t> out) {
  if (task_.phase() == Task::Phase::kEnded) return {};
  if (task_.phase() == Task::Phase::kAttached && !take_probe(message, destination)) return {};
  auto decide = [this](const HostName& name) { return resolver::NameDecision{task_.decide_name(name).reason, {}}; };
  auto answered = resolver::answer_message(message, transport, decide, task_.names(), out);
  ++task_.dns_queries;
  // What could not be recorded is not answered.
  if (task_.phase() == Task::Phase::kRunning && !record(answered.record)) return {};
  return out.first(answered.size);
}

// Every refusal is recorded; an answer only the first time a name gets its addresses, since later ones tell nothing new.
bool TaskDns::record(const resolver::AnswerRecord& r) {
  bool refused = r.verdict == Verdict::kDenied || r.verdict == Verdict::kOverBudget || r.verdict == Verdict::kUnsupported ||
                 r.verdict == Verdict::kMalformed;
  if (!refused && !r.new_name) return true;
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
