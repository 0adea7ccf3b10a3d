#include "resolver/answers/answer.h"

#include <algorithm>
#include <iterator>

#include "policies/engine/reason.h"
#include "resolver/answers/reverse_name.h"
#include "resolver/answers/special_names.h"

namespace sallyport::resolver {
namespace {

using dns::Rcode;
using dns::Type;
using Verdict = AnswerRecord::Verdict;
using policy::ReasonCode;

// What an answer is made of, with storage for what the Response only points to.
struct Plan {
  Verdict verdict = Verdict::kDenied;
  Rcode rcode = Rcode::kRefused;
  ReasonCode reason = ReasonCode::kInternal;
  std::string text;  // of the extended error; none if empty
  dns::ExtendedCode code = dns::ExtendedCode::kBlocked;
  std::vector<IpAddress> addresses;
  std::span<const std::vector<std::uint8_t>> records;
  std::optional<dns::Name> pointer;
  std::uint32_t ttl = kAnswerTtl;
  bool new_name = false;
  bool look_up = false;
};

std::string in_words(ReasonCode reason) {
  std::string text(policy::to_string(reason));
  text += ": ";
  text += policy::describe(reason);
  return text;
}

Plan refusal(Verdict verdict, Rcode rcode, ReasonCode reason, dns::ExtendedCode code, std::string text) {
  Plan plan;
  plan.verdict = verdict;
  plan.rcode = rcode;
  plan.reason = reason;
  plan.code = code;
  plan.text = std::move(text);
  return plan;
}
Plan no_such_name(std::string text) {
  return refusal(Verdict::kNoSuchName, Rcode::kNxDomain, ReasonCode::kNameNotFound, dns::ExtendedCode::kFiltered,
                 std::move(text));
}
Plan unsupported(std::string text) {
  return refusal(Verdict::kUnsupported, Rcode::kRefused, ReasonCode::kMalformed, dns::ExtendedCode::kNotSupported,
                 std::move(text));
}
Plan empty() {
  Plan plan;
  plan.verdict = Verdict::kEmpty;
  plan.rcode = Rcode::kNoError;
  plan.reason = ReasonCode::kAllowed;
  return plan;
}

// Zone transfers, ANY, and the types of transactions (RFC 6895 section 3.1, 128 to 255) are no data types.
bool is_data_type(Type type) noexcept {
  auto number = static_cast<unsigned>(type);
  return number != 0 && type != Type::kOpt && (number < 128 || number > 255);
}

Plan address_of(Type type, const SyntheticPair& pair) {
  Plan plan = empty();
  if (type != Type::kA && type != Type::kAaaa) return plan;  // also HTTPS and SVCB: no ECH key, hint or port (dns-010)
  plan.verdict = Verdict::kAnswered;
  plan.addresses = {type == Type::kA ? pair.v4 : pair.v6};
  return plan;
}

Plan reverse(const HostName& name, Type type, const SyntheticPool& pool) {
  using Kind = SyntheticPool::Meaning::Kind;
  auto address = reverse_address(name);
  auto meaning = address ? pool.lookup(*address) : SyntheticPool::Meaning{};
  bool ours = meaning.kind == Kind::kResolver || meaning.kind == Kind::kInternal;
  if (!ours && meaning.kind != Kind::kName)
    return no_such_name("reverse names are known for addresses of this task only");
  if (type != Type::kPtr) return empty();
  Plan plan = empty();
  plan.verdict = Verdict::kAnswered;
  static const HostName kInternal = HostName::parse(kInternalName).value();
  plan.pointer = dns::Name::of(ours ? kInternal : *meaning.name);
  return plan;
}

bool is_address_type(Type type) noexcept { return type == Type::kA || type == Type::kAaaa; }

// A denial that leaves the name in existence: for clients that take "no such name" for one type as one for all.
Plan denied_type(const NameDecision& decision) {
  return refusal(Verdict::kDenied, Rcode::kNoError, decision.reason, dns::ExtendedCode::kFiltered, decision.text);
}

// A denied name's address; without room, or for other types, it has none.
Plan explained(const HostName& name, Type type, NameDecision decision, SyntheticPool& pool) {
  Plan plan = denied_type(decision);
  if (!is_address_type(type)) return plan;
  auto pair = pool.assign_denied(name);
  if (!pair) return refusal(Verdict::kDenied, Rcode::kNxDomain, decision.reason, dns::ExtendedCode::kBlocked, std::move(decision.text));
  plan.addresses = {type == Type::kA ? pair.value().v4 : pair.value().v6};
  plan.code = dns::ExtendedCode::kForgedAnswer;
  return plan;
}

Plan denied(const HostName& name, Type type, NameDecision decision, SyntheticPool& pool) {
  if (decision.text.empty()) decision.text = in_words(decision.reason);
  if (decision.reason == ReasonCode::kRecordTypeNotAllowed) {
    // Browsers ask for these with every name: no news to anybody.
    if (type == Type::kHttps || type == Type::kSvcb) return empty();
    return denied_type(decision);
  }
  if (policy::category(decision.reason) == policy::Category::kBudget)
    return refusal(Verdict::kOverBudget, Rcode::kRefused, decision.reason, dns::ExtendedCode::kProhibited, std::move(decision.text));
  if (decision.explain) return explained(name, type, std::move(decision), pool);
  return refusal(Verdict::kDenied, Rcode::kNxDomain, decision.reason, dns::ExtendedCode::kBlocked, std::move(decision.text));
}

Plan ordinary(const HostName& name, Type type, const DecideName& decide, SyntheticPool& pool) {
  NameDecision decision = decide(name, type);
  if (!decision.allowed()) return denied(name, type, std::move(decision), pool);
  if (decision.look_up) {
    Plan plan = empty();
    plan.look_up = true;
    return plan;
  }
  if (!is_address_type(type)) return empty();
  std::size_t before = pool.size();
  auto pair = pool.assign(name);
  if (!pair)
    return refusal(Verdict::kOverBudget, Rcode::kRefused, ReasonCode::kOverloaded, dns::ExtendedCode::kProhibited,
                   pair.error().detail);
  Plan plan = address_of(type, pair.value());
  plan.new_name = pool.size() != before;
  return plan;
}

Plan plan_for(const HostName& name, Type type, const DecideName& decide, SyntheticPool& pool) {
  static constexpr SyntheticPair kLoopback{IpAddress::v4({127, 0, 0, 1}),
                                           IpAddress::v6({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})};
  if (!is_data_type(type)) return unsupported("questions of this type are not answered");
  switch (special_name(name)) {
    case SpecialName::kInternal:
      return address_of(type, pool.internal());
    case SpecialName::kLocalhost:
      return address_of(type, kLoopback);
    case SpecialName::kReverse:
      return reverse(name, type, pool);
    case SpecialName::kNowhere:
      return no_such_name("a special-use name that is not looked up");
    case SpecialName::kDohSwitch:
      return no_such_name("names are resolved by this resolver only");
    case SpecialName::kFloor:
      return refusal(Verdict::kDenied, Rcode::kNxDomain, ReasonCode::kFloor, dns::ExtendedCode::kBlocked,
                     in_words(ReasonCode::kFloor));
    case SpecialName::kNone:
      break;
  }
  return ordinary(name, type, decide, pool);
}

std::size_t write(const dns::Query& query, const Plan& plan, dns::Transport transport, std::span<std::uint8_t> out) {
  dns::Response response;
  response.rcode = plan.rcode;
  response.ttl = plan.ttl;
  response.addresses = plan.addresses;
  response.records = plan.records;
  if (plan.pointer) response.pointer = &*plan.pointer;
  bool empty = plan.addresses.empty() && plan.records.empty() && !plan.pointer;
  response.negative_soa = plan.rcode == Rcode::kNxDomain || (plan.rcode == Rcode::kNoError && empty);
  if (!plan.text.empty()) response.extended_error = dns::ExtendedError{plan.code, plan.text};
  return dns::write_response(query, response, transport, out);
}

Answered finish(const dns::Query& query, const Plan& plan, dns::Transport transport, std::span<std::uint8_t> out) {
  Answered answered;
  answered.record.type = query.question.type;
  answered.record.asked = query.question.name;
  answered.record.verdict = plan.verdict;
  answered.record.rcode = plan.rcode;
  answered.record.reason = plan.reason;
  answered.record.new_name = plan.new_name;
  answered.size = write(query, plan, transport, out);
  return answered;
}

// The answer to a lookup that found the name.
Plan found_plan(const PendingLookup& pending, const LookedUp& found) {
  Plan plan = empty();
  plan.ttl = found.ttl;
  bool v4 = pending.query.question.type == Type::kA;
  if (pending.wants_addresses())
    std::ranges::copy_if(found.addresses, std::back_inserter(plan.addresses), [&](const IpAddress& a) { return a.is_v4() == v4; });
  else
    plan.records = found.records;
  if (!plan.addresses.empty() || !plan.records.empty()) plan.verdict = Verdict::kAnswered;
  return plan;
}

Plan looked_up(const PendingLookup& pending, const LookedUp& found) {
  if (found.reason == ReasonCode::kAllowed) return found_plan(pending, found);
  std::string text = in_words(found.reason);
  if (!found.text.empty()) text += "; " + found.text;
  if (found.reason == ReasonCode::kNameNotFound) {
    Plan plan = no_such_name({});
    plan.ttl = found.ttl;
    return plan;
  }
  bool refused = policy::category(found.reason) == policy::Category::kAddress;
  return refusal(refused ? Verdict::kDenied : Verdict::kFailed, Rcode::kServFail, found.reason,
                 refused ? dns::ExtendedCode::kBlocked : dns::ExtendedCode::kOther, std::move(text));
}

}  // namespace

std::string_view to_string(AnswerRecord::Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kAnswered:
      return "answered";
    case Verdict::kEmpty:
      return "empty";
    case Verdict::kNoSuchName:
      return "no_such_name";
    case Verdict::kDenied:
      return "denied";
    case Verdict::kOverBudget:
      return "over_budget";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kUnsupported:
      return "unsupported";
    case Verdict::kMalformed:
      return "malformed";
  }
  return "unknown";
}

Answered answer_query(const dns::Query& query, dns::Transport transport, const DecideName& decide, SyntheticPool& pool,
                      std::span<std::uint8_t> out) {
  Plan plan;
  auto name = query.question.name.host_name();
  if (query.question.klass != dns::Class::kIn) {
    plan = unsupported("only class IN is answered");
  } else if (!name) {
    plan = refusal(Verdict::kDenied, Rcode::kNxDomain, ReasonCode::kMalformed, dns::ExtendedCode::kBlocked,
                   "not the name of a host");
  } else {
    plan = plan_for(name.value(), query.question.type, decide, pool);
    if (plan.look_up) return Answered{0, {}, PendingLookup{query, std::move(name).value()}};
  }
  Answered answered = finish(query, plan, transport, out);
  if (name) answered.record.name = std::move(name).value();
  return answered;
}

Answered refuse_query(const dns::Query& query, ReasonCode reason, dns::Transport transport, std::span<std::uint8_t> out) {
  auto plan = refusal(Verdict::kOverBudget, Rcode::kRefused, reason, dns::ExtendedCode::kProhibited, in_words(reason));
  Answered answered = finish(query, plan, transport, out);
  if (auto name = query.question.name.host_name()) answered.record.name = std::move(name).value();
  return answered;
}

Answered answer_looked_up(const PendingLookup& pending, const LookedUp& found, dns::Transport transport,
                          std::span<std::uint8_t> out) {
  Answered answered = finish(pending.query, looked_up(pending, found), transport, out);
  answered.record.name = pending.name;
  return answered;
}

Answered answer_message(std::span<const std::uint8_t> message, dns::Transport transport, const DecideName& decide,
                        SyntheticPool& pool, std::span<std::uint8_t> out) {
  auto parsed = dns::parse_query(message);
  if (const auto* query = std::get_if<dns::Query>(&parsed)) return answer_query(*query, transport, decide, pool, out);

  using Reply = dns::MalformedQuery::Reply;
  const auto& malformed = std::get<dns::MalformedQuery>(parsed);
  Answered answered;
  answered.size = dns::write_malformed(malformed, out);
  answered.record.verdict = malformed.reply == Reply::kNotImp ? Verdict::kUnsupported : Verdict::kMalformed;
  answered.record.rcode = malformed.reply == Reply::kNotImp    ? Rcode::kNotImp
                          : malformed.reply == Reply::kBadVers ? Rcode::kBadVers
                                                               : Rcode::kFormErr;
  answered.record.asked = malformed.name;
  return answered;
}

}  // namespace sallyport::resolver
