#include "control/policy_commands/recorded.h"

#include <cstdio>

#include "control/policy_commands/policy_file.h"
#include "control/recorded_decisions/audit_decisions.h"
#include "core/base/escape.h"

namespace sallyport::control {
namespace {

namespace review = policy::review;

std::optional<AuditDecisions> open_audit(const std::string& path) {
  auto read = read_decisions(path);
  if (!read) {
    no_answer(read.error().detail);
    return std::nullopt;
  }
  const AuditDecisions& decisions = read.value();
  if (decisions.unread != 0)
    std::fprintf(
        stderr,
        "sallyport: warning: %s: %llu decisions are passed over, since what was asked cannot be told from the record\n",
        escape_text(path).c_str(), static_cast<unsigned long long>(decisions.unread));
  if (decisions.records == 0) {
    no_answer(path + " is no audit log: none of its lines is a record");
    return std::nullopt;
  }
  return std::move(read).value();
}

}  // namespace

int suggest_policy(const std::string& audit, const std::string& name, bool denied_only) {
  auto log = open_audit(audit);
  if (!log) return kNoAnswer;
  if (denied_only) std::erase_if(log->decisions, [](const review::Recorded& r) { return r.allowed(); });
  auto suggestion = review::suggest(log->decisions, name, audit);
  auto loaded = policy::load(suggestion.text, "suggestion");
  if (!loaded.policy) {
    show_errors(loaded.diagnostics);
    return no_answer("no policy could be made of this log");
  }
  std::fputs(suggestion.text.c_str(), stdout);
  return kYes;
}

int replay_audit(const std::string& file, const std::string& audit, const std::string& ceiling) {
  auto opened = open_policy(file, ceiling);
  if (!opened) return kNoAnswer;
  auto log = open_audit(audit);
  if (!log) return kNoAnswer;
  auto replayed = review::replay(*opened->loaded.policy, log->decisions);
  std::fputs(review::render(replayed).c_str(), stdout);
  return replayed.changes.empty() ? kYes : kNo;
}

}  // namespace sallyport::control
