#include "policies/engine/notes.h"

#include <string>

#include "policies/engine/load.h"
#include "policies/engine/reporter.h"
#include "policies/engine/rule_terms.h"

namespace sallyport::policy {
namespace {

MethodSet reading_methods() {
  MethodSet methods;
  for (auto method : {"GET", "HEAD", "OPTIONS"}) methods.add(*MethodSet::of(method));
  return methods;
}

std::string of_tunnel(const Rule& rule, const RuleTerms& terms) {
  std::string seen = rule.scheme == Scheme::kTls ? "name, SNI and bytes" : "name and bytes";
  std::string out = "data may leave here: an opaque tunnel shows " + seen + ", not what it carries";
  if (rule.scheme == Scheme::kTls && !terms.host.target().is_literal())
    out += ", and behind a front that many sites share another site can be reached";
  return out;
}

std::string of_requests(const RuleTerms& terms) {
  std::string out = "data may leave here: the rule has no credential, so a task can use an account of its own";
  bool reads_only = reading_methods().holds(terms.methods);
  bool any_query = !terms.request || !terms.request->query;
  if (reads_only && any_query) out += "; a server may write by GET, and any query is allowed";
  else if (reads_only) out += "; a server may write by GET";
  return out;
}

}  // namespace

std::vector<Diagnostic> notes(const CompiledPolicy& policy, const PolicyDocument& document, std::string_view file_name) {
  Reporter reporter(file_name);
  std::size_t told = 0, untold = 0;
  Position last;
  auto tell = [&](const Rule& rule, Position at) {
    if (rule.action == Action::kDeny) return;
    if (told + 1 == kMaxDiagnostics) return void(++untold);
    ++told;
    last = at;
    const RuleTerms& terms = policy.terms(rule.index);
    std::string names = rule.origin.empty() ? std::string() : rule.id + ": ";
    if (rule.dns.real || !rule.dns.types.empty()) names += "names that are looked up carry data to their servers; ";
    reporter.note(at, names + (terms.is_opaque() ? of_tunnel(rule, terms) : of_requests(terms)), rule.text);
  };
  for (const RulePlace& place : document.rule_places)
    if (place.index) tell(policy.rules()[*place.index], place.destination);
  for (const UsePlace& use : document.uses)
    for (std::uint32_t i = 0; i < use.rules; ++i) tell(policy.rules()[use.first_rule + i], use.at);
  if (untold != 0) reporter.note(last, "and " + std::to_string(untold) + " more rules by which data may leave");
  return reporter.take();
}

}  // namespace sallyport::policy
