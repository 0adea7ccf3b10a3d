#include "control/verbs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "control/audit_log/tail.h"
#include "control/audit_log/verify.h"
#include "control/policy_commands/policy_file.h"
#include "control/task/task_policy.h"
#include "policies/engine/load.h"
#include "policies/engine/notes.h"
#include "sandbox-launcher/sandbox/checks.h"

namespace sallyport::control {
namespace {

int report(const Error& error) {
  std::fprintf(stderr, "sallyport: %s\n", error.to_string().c_str());
  return 1;
}

constexpr const char* kPrograms[] = {"sallyport-attach", "sallyport-proxy", "sallyport-resolver", "sallyport-audit"};

bool check_programs(const std::string& libexec) {
  bool all = true;
  for (const char* name : kPrograms) {
    std::string path = libexec + "/" + name;
    bool there = ::access(path.c_str(), X_OK) == 0;
    all = all && there;
    std::printf("%-8s %-20s %s\n", there ? "ok" : "FAILED", name, there ? path.c_str() : ("not found in " + libexec).c_str());
  }
  return all;
}

}  // namespace

int verify_audit_log(const std::string& file, bool json) {
  auto verified = audit_log::verify(file);
  if (!verified) return report(verified.error());
  std::fputs((json ? audit_log::render_json(verified.value()) + "\n" : audit_log::render_text(verified.value())).c_str(), stdout);
  return verified.value().sound() ? 0 : 1;
}

int print_audit_tail(const std::string& file, std::size_t lines, bool json) {
  auto tail = audit_log::Tail::open(file, lines);
  if (!tail) return report(tail.error());
  for (;;) {
    auto line = tail.value().next();
    if (!line) return report(line.error());
    if (!line.value()) return 0;
    std::puts(json ? line.value()->c_str() : audit_log::render_line(*line.value()).c_str());
  }
}

int check_policy(const std::string& file, const std::string& ceiling) {
  auto options = open_ceiling(ceiling);
  if (!options) return kNoAnswer;
  auto text = read_file(file, policy::kMaxPolicyBytes);
  if (!text) return report(text.error());
  auto outcome = policy::load(text.value(), file, *options);
  for (const auto& diagnostic : outcome.diagnostics) std::fputs(policy::render(diagnostic).c_str(), stderr);
  if (!outcome.policy) return 1;
  for (const auto& note : policy::notes(*outcome.policy, *outcome.document, file)) std::fputs(policy::render(note).c_str(), stderr);
  std::printf("%s: %s loads, %zu rules, sha256 %s\n", file.c_str(), outcome.policy->label().c_str(), outcome.policy->rules().size(),
              std::string(outcome.policy->sha256()).c_str());
  return 0;
}

int run_doctor(const std::string& libexec) {
  bool fine = check_programs(libexec);
  for (const auto& check : launcher::sandbox_checks()) {
    using State = launcher::Check::State;
    fine = fine && check.state != State::kFailed;
    std::printf("%-8s %-20s %s\n", check.state == State::kOk ? "ok" : check.state == State::kWarning ? "warning" : "FAILED", check.name.c_str(),
                check.detail.c_str());
  }
  std::puts(fine ? "Tasks can be run here." : "Tasks cannot be run here until what FAILED is mended.");
  return fine ? 0 : 1;
}

}  // namespace sallyport::control
