#include "policies/review/explain.h"

#include <algorithm>

#include "core/base/escape.h"
#include "policies/engine/floor.h"
#include "policies/engine/rule_index.h"
#include "policies/review/limits_text.h"

namespace sallyport::policy::review {
namespace {

using Kind = Inquiry::Kind;

std::string named(const Rule& rule) { return rule.id + " (line " + std::to_string(rule.line) + ")"; }

// Why a rule that matches did not decide.
std::string outdone(const Rule& rule, const Explanation& explanation) {
  const Rule* decided = explanation.decided;
  if (rule.action == Action::kDeny) return "matches too";
  if (decided != nullptr && decided->action == Action::kDeny) return "matches, but a deny wins: " + named(*decided);
  if (decided != nullptr && decided->index < rule.index) return "matches too, but " + named(*decided) + " comes first";
  switch (explanation.answer.reason) {
    case ReasonCode::kFloor:
      return "matches, but no rule opens cloud metadata services";
    case ReasonCode::kMethodOverride:
      return "matches, but not the method that the server would be told to read instead";
    case ReasonCode::kNotWithinCeiling:
      return "matches, but the ceiling does not allow it";
    case ReasonCode::kRecordTypeNotAllowed:
      return "is about this name, but grants no records of this type";
    case ReasonCode::kAddressRefused:
      return "matches, but such a name never leaves the task";
    default:
      return "matches by what a lookup or connection shows, but everything that it allows is denied";
  }
}

RuleNote note_of(const CompiledPolicy& policy, const Rule& rule, const Inquiry& inquiry,
                 const Explanation& explanation) {
  RuleNote note{&rule, why_not(policy.index().terms(rule.index), rule.action, inquiry), {}};
  note.said = note.miss.term == Term::kNone ? outdone(rule, explanation) : note.miss.why;
  return note;
}

// What the policy above this one says.
std::string ceiling_text(const CompiledPolicy& policy, const Answer& answer) {
  const CompiledPolicy* ceiling = policy.ceiling();
  if (ceiling == nullptr) return {};
  std::string out = "the ceiling " + ceiling->label();
  if (answer.allowed()) return out + " allows it too";
  if (!answer.ceiling_reason) return {};
  out += " does not: " + std::string(to_string(*answer.ceiling_reason));
  if (answer.ceiling_rule)
    out += ", by its rule " + std::string(answer.ceiling_rule->id) + " in line " +
           std::to_string(answer.ceiling_rule->line);
  return out;
}

bool nearer(const RuleNote& a, const RuleNote& b) {
  if (a.miss.term != b.miss.term) return a.miss.term > b.miss.term;
  if (a.miss.closeness != b.miss.closeness) return a.miss.closeness > b.miss.closeness;
  return a.rule->index < b.rule->index;
}

void gather(Explanation& out, const CompiledPolicy& policy, const Inquiry& inquiry, std::size_t most) {
  // A heap of the nearest: the farthest of them in front.
  for (const Rule& rule : policy.rules()) {
    if (&rule == out.decided) continue;
    out.others.push_back(note_of(policy, rule, inquiry, out));
    std::ranges::push_heap(out.others, nearer);
    if (out.others.size() <= most) continue;
    std::ranges::pop_heap(out.others, nearer);
    out.others.pop_back();
    ++out.left_out;
  }
  std::ranges::sort_heap(out.others, nearer);
}

void add_notes(Explanation& out, const Inquiry& inquiry) {
  out.notes = inquiry.notes;
  if (const HostName* name = inquiry.target.host()) {
    if (is_own_name(*name))
      out.notes.push_back("sallyport.internal is answered inside the task, whatever the policy says");
    else if (is_never_resolved(*name))
      out.notes.push_back("this name never leaves the machine (RFC 6761): no rule opens it");
  } else if (out.answer.allowed()) {
    out.notes.push_back(
        "an address in a private, loopback or other special range is dialled only if the appliance's configuration "
        "permits it");
  }
  if (!out.answer.allowed()) return;
  if (inquiry.kind == Kind::kConnect && out.answer.treatment == Treatment::kHttp)
    out.notes.push_back("the connection is read as HTTP, and each request in it is decided for itself");
  if (out.answer.treatment == Treatment::kTlsTunnel || out.answer.treatment == Treatment::kTcpTunnel)
    out.notes.push_back(
        out.answer.treatment == Treatment::kTlsTunnel
            ? "an opaque tunnel: host, port and the server's name in the greeting are enforced, requests are not read"
            : "an opaque tunnel: host and port are enforced, what it carries is not read");
  if (inquiry.kind == Kind::kName)
    out.notes.push_back(
        out.answer.real_addresses
            ? "the name is answered with its true, checked addresses"
            : "the name is answered with an address of the task's own; nothing is looked up until it is used");
}

std::string rule_line(const Rule& rule) {
  return std::string(to_string(rule.action)) + ": " + escape_text(rule.text, 300);
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

// Not against a denial, the ceiling, or what looks like an evasion of either.
bool one_rule_helps(const Answer& answer) {
  switch (answer.reason) {
    case ReasonCode::kAllowed:
    case ReasonCode::kDeniedByRule:
    case ReasonCode::kNotWithinCeiling:
    case ReasonCode::kMethodOverride:
    case ReasonCode::kPathAmbiguous:
      return false;
    default:
      return !answer.rule;
  }
}

// What else than what was asked the line would allow.
std::string_view beside(const Inquiry& inquiry, std::string_view line) {
  bool http = line.starts_with("- allow: http://"), tcp = line.starts_with("- allow: tcp://");
  if (inquiry.kind == Kind::kName) return ", and TLS connections to its port 443";
  if (inquiry.kind == Kind::kConnect && http) return ", and every request to this host and port";
  if (inquiry.kind == Kind::kTls && tcp) return ", and any other connection to this port";
  return ", and nothing else";
}

std::string offer(const Answer& answer, const Inquiry& inquiry, std::string_view line) {
  bool instead = answer.reason == ReasonCode::kTunnelOnly || answer.reason == ReasonCode::kNotHttp ||
                 answer.reason == ReasonCode::kNotTls;
  std::string out = instead && answer.nearest
                        ? "in place of rule " + std::string(answer.nearest->id) + " this line would allow it"
                        : "this line in rules: would allow it";
  bool holds_query = line.starts_with("- {") && line.find(", query: ") != line.npos;
  if (inquiry.request && inquiry.request->has_query && !holds_query) out += " whatever the query";
  return out + std::string(beside(inquiry, line)) + ":\n  ";
}

void render_others(std::string& out, const Explanation& e) {
  if (e.others.empty()) return;
  std::size_t id = 0, line = 0;
  for (const RuleNote& note : e.others) {
    id = std::max(id, note.rule->id.size());
    line = std::max(line, std::to_string(note.rule->line).size());
  }
  out += e.left_out == 0 ? "the other rules:\n" : "the nearest of the other rules:\n";
  for (const RuleNote& note : e.others)
    out += "  line " + padded(std::to_string(note.rule->line), line) + "  " + padded(note.rule->id, id) + "  " +
           padded(std::string(to_string(note.rule->action)), 5) + "  " +
           padded(std::string(to_string(note.miss.term)), 7) + "  " + note.said + "\n";
  if (e.left_out != 0) out += "  and " + std::to_string(e.left_out) + " more that are farther off\n";
}

}  // namespace

Explanation explain(const CompiledPolicy& policy, const Inquiry& inquiry, std::size_t most) {
  Explanation out;
  out.answer = ask(policy, inquiry);
  if (out.answer.rule) out.decided = &policy.rules()[out.answer.rule->index];
  gather(out, policy, inquiry, most);
  out.budgets = budgets_text(policy.budgets());
  out.ceiling = ceiling_text(policy, out.answer);
  if (out.answer.allowed() && out.decided != nullptr) out.limits = limits_text(out.decided->limits);
  if (one_rule_helps(out.answer)) out.would_allow = rule_for(policy, inquiry);
  add_notes(out, inquiry);
  return out;
}

std::string render(const Explanation& e, const CompiledPolicy& policy, const Inquiry& inquiry, std::string_view file) {
  std::string out = inquiry.text() + "\n";
  out += e.answer.allowed() ? "allowed" : "denied: " + std::string(to_string(e.answer.reason));
  out += "\n";
  if (!e.answer.allowed()) out += "  " + std::string(describe(e.answer.reason)) + "\n";
  if (e.decided != nullptr)
    out += "  by rule " + e.decided->id + ", " + escape_text(file, 200) + " line " + std::to_string(e.decided->line) +
           ": " + rule_line(*e.decided) + "\n";
  else if (e.answer.nearest)
    out += "  nearest rule " + std::string(e.answer.nearest->id) + ", " + escape_text(file, 200) + " line " +
           std::to_string(e.answer.nearest->line) + ": " + rule_line(policy.rules()[e.answer.nearest->index]) + "\n";
  if (!e.ceiling.empty()) out += "  " + e.ceiling + "\n";
  if (!e.limits.empty()) out += "  limits of the rule: " + e.limits + "\n";
  if (!e.budgets.empty() && e.answer.allowed()) out += "  budgets of the task: " + e.budgets + "\n";
  for (const std::string& note : e.notes) out += "  note: " + note + "\n";
  if (e.would_allow) out += offer(e.answer, inquiry, *e.would_allow) + *e.would_allow + "\n";
  render_others(out, e);
  return out;
}

std::string summary(const Answer& answer) {
  std::string out = answer.allowed() ? "allowed" : "denied, " + std::string(to_string(answer.reason));
  if (answer.rule) out += ", by rule " + std::string(answer.rule->id) + " in line " + std::to_string(answer.rule->line);
  if (!answer.rule && answer.nearest)
    out += ", nearest rule " + std::string(answer.nearest->id) + " in line " + std::to_string(answer.nearest->line);
  return out;
}

}  // namespace sallyport::policy::review
