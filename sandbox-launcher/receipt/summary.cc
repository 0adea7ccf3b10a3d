// The receipt for people.
#include <algorithm>
#include <cstdio>
#include <tuple>

#include "core/base/escape.h"
#include "sandbox-launcher/receipt/receipt.h"

namespace sallyport::launcher {
namespace {

std::string bytes_text(std::uint64_t count) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(count);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string line(std::string_view name, const std::string& value) {
  std::string out = "  ";
  out += name;
  out.append(name.size() < 10 ? 10 - name.size() : 1, ' ');
  return out + value + "\n";
}

std::string command_line(const std::vector<std::string>& command) {
  std::string out;
  for (const auto& word : command) {
    bool plain = !word.empty() && word.find_first_of(" '\"\\$`|&;<>()*?") == std::string::npos;
    out += (out.empty() ? "" : " ") + (plain ? escape_text(word, 120) : "'" + escape_text(word, 120) + "'");
    if (out.size() > 240) return out.substr(0, 240) + "...";
  }
  return out;
}

std::string end_text(const Receipt& receipt) {
  std::string out(to_string(receipt.outcome));
  if (!receipt.limit.empty()) out += " (" + escape_text(receipt.limit, 60) + ")";
  out += ", exit status " + std::to_string(receipt.exit_code);
  if (!receipt.detail.empty()) out += ": " + escape_text(receipt.detail, 200);
  return out;
}

std::string destinations(const Receipt& receipt, std::size_t max) {
  auto sorted = receipt.network;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tie(a.destination, a.treatment) < std::tie(b.destination, b.treatment);
  });
  std::string out;
  for (std::size_t i = 0; i < sorted.size() && i < max; ++i) {
    const auto& one = sorted[i];
    std::string text = escape_text(one.destination, 120) + "  " + std::to_string(one.allowed) + " allowed, " +
                       std::to_string(one.denied) + " denied";
    if (one.upload_bytes + one.download_bytes != 0)
      text += ", " + bytes_text(one.upload_bytes) + " up, " + bytes_text(one.download_bytes) + " down";
    if (!one.reason.empty()) text += " (" + escape_text(one.reason, 60) + ")";
    out += line(i == 0 ? "network" : "", text);
  }
  if (sorted.empty()) out += line("network", "nothing was tried");
  if (sorted.size() > max) out += line("", std::to_string(sorted.size() - max) + " more in the receipt");
  return out;
}

std::string refusals(const Receipt& receipt) {
  std::string out;
  for (const auto& one : receipt.refused) {
    std::string count = one.count > 1
                            ? " (" + escape_text(one.reason, 60) + ", " + std::to_string(one.count) + " times)"
                            : " (" + escape_text(one.reason, 60) + ")";
    out += line(out.empty() ? "refused" : "", escape_text(one.what, 200) + count);
    if (!one.rule.empty()) out += line("", "  would need  " + escape_text(one.rule, 300));
  }
  if (receipt.refused_kinds > receipt.refused.size())
    out += line("", std::to_string(receipt.refused_kinds - receipt.refused.size()) +
                        " others: sallyport policy suggest --denied-only AUDIT");
  return out;
}

std::string cleanup_text(const std::vector<CleanupStep>& steps) {
  std::string failed;
  for (const auto& step : steps)
    if (!step.completed)
      failed += (failed.empty() ? "" : "; ") + escape_text(step.name, 60) + " failed: " + escape_text(step.error, 120);
  return failed.empty() ? std::to_string(steps.size()) + " steps, all completed" : failed;
}

}  // namespace

std::string receipt_summary(const Receipt& receipt, std::size_t max_destinations) {
  double seconds = std::chrono::duration<double>(receipt.ended - receipt.started).count();
  char duration[32];
  std::snprintf(duration, sizeof duration, "%.2f s", seconds < 0 ? 0.0 : seconds);
  std::string out = "task " + escape_text(receipt.task, 64) + " (receipt not signed)\n";
  if (receipt.observed) out += line("observed", "a dry run: what the policy denies was refused and recorded");
  out += line("command", command_line(receipt.command));
  std::string policy =
      receipt.policy_name.empty() ? "none: everything is denied" : escape_text(receipt.policy_name, 80);
  if (!receipt.policy_version.empty()) policy += "/" + escape_text(receipt.policy_version, 20);
  out += line("policy", policy);
  out += line("runtime", escape_text(receipt.runtime.version, 80) + ", uid " +
                             std::to_string(receipt.runtime.host_uid) + " of the host");
  out += line("outcome", end_text(receipt));
  out += line("time", duration);
  out += line("output", bytes_text(receipt.stdout_bytes) + " and " + bytes_text(receipt.stderr_bytes) + " of errors" +
                            (receipt.output_truncated ? ", truncated" : ""));
  out += destinations(receipt, max_destinations);
  out += refusals(receipt);
  if (receipt.audit_first && receipt.audit_last)
    out += line("audit", "records " + std::to_string(receipt.audit_first->sequence) + " to " +
                             std::to_string(receipt.audit_last->sequence));
  out += line("clean-up", cleanup_text(receipt.cleanup));
  return out;
}

}  // namespace sallyport::launcher
