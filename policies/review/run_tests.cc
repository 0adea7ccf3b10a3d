#include "policies/review/run_tests.h"

#include <algorithm>

#include "core/base/escape.h"
#include "policies/engine/rule_index.h"
#include "policies/review/explain.h"

namespace sallyport::policy::review {
namespace {

std::string expected_text(const PolicyTest& test) {
  std::string out = test.expected == Action::kAllow ? "allowed" : "denied";
  if (test.rule) out += " by rule " + escape_text(*test.rule, 80);
  return out;
}

bool fits(const PolicyTest& test, const Verdict& verdict) {
  if (verdict.allowed() != (test.expected == Action::kAllow)) return false;
  return !test.rule || (verdict.rule && verdict.rule->id == *test.rule);
}

// Of the rule that was to decide, else of the reason.
std::string why(const CompiledPolicy& policy, const PolicyTest& test, const Verdict& verdict) {
  if (test.rule) {
    auto rule = std::ranges::find(policy.rules(), *test.rule, &Rule::id);
    if (rule != policy.rules().end()) {
      auto miss = why_not(policy.index().terms(rule->index), rule->action, Inquiry::of(test.question));
      if (miss.term != Term::kNone) return "rule " + rule->id + ": " + miss.why;
    }
  }
  return verdict.allowed() ? "" : std::string(describe(verdict.reason));
}

}  // namespace

TestReport run_tests(const CompiledPolicy& policy, const PolicyDocument& document) {
  TestReport report;
  report.tests = document.policy_tests.size();
  for (const PolicyTest& test : document.policy_tests) {
    Answer answer;
    static_cast<Verdict&>(answer) = policy::ask(policy, test.question);
    if (fits(test, answer)) continue;
    report.failures.push_back(
        {test.at, escape_text(test.text, 300), expected_text(test), summary(answer), why(policy, test, answer)});
  }
  return report;
}

std::string render(const TestReport& report, std::string_view file) {
  std::string name = escape_text(file, 200), out;
  for (const TestFailure& failure : report.failures) {
    out += name + ":" + std::to_string(failure.at.line) + ":" + std::to_string(failure.at.column) +
           ": failed: " + failure.asked + "\n";
    out += "  expected: " + failure.expected + "\n  got:      " + failure.got + "\n";
    if (!failure.why.empty()) out += "  why:      " + failure.why + "\n";
  }
  if (report.tests == 0)
    return name + ": no tests: write them below tests:, such as - allow: GET http://api.example/v1/x\n";
  std::size_t passed = report.tests - report.failures.size();
  return out + name + ": " + std::to_string(passed) + " passed, " + std::to_string(report.failures.size()) +
         " failed\n";
}

}  // namespace sallyport::policy::review
