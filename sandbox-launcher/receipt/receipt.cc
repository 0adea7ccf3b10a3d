#include "sandbox-launcher/receipt/receipt.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sandbox-launcher/receipt/canonical.h"

namespace sallyport::launcher {
namespace {

using nlohmann::json;

std::string time_text(std::chrono::system_clock::time_point at) {
  auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
  std::time_t seconds = static_cast<std::time_t>(milliseconds / 1000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 40> text{};
  std::size_t n = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text.data() + n, text.size() - n, ".%03dZ", static_cast<int>(milliseconds % 1000));
  return text.data();
}

// SHA-256 of the arguments joined by NUL bytes: no two commands have the same text.
std::string command_sha256(const std::vector<std::string>& command) {
  std::string joined;
  for (const auto& word : command) joined += word + '\0';
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(joined.data(), joined.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) return "";
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    static constexpr char kHex[] = "0123456789abcdef";
    text += kHex[digest[i] >> 4];
    text += kHex[digest[i] & 15];
  }
  return text;
}

json strings(const std::vector<std::string>& texts) {
  json out = json::array();
  for (const auto& text : texts) out.push_back(json_text(text));
  return out;
}

json runtime_part(const RuntimeFacts& facts) {
  json limits = json::array();
  for (const auto& limit : facts.limits)
    limits.push_back({{"name", json_text(limit.name)},
                      {"value", json_text(limit.value)},
                      {"enforced_by", json_text(limit.enforced_by)}});
  return {{"name", json_text(facts.runtime)},
          {"version", json_text(facts.version)},
          {"launched_by_root", facts.as_root},
          {"host_uid", facts.host_uid},
          {"limits", std::move(limits)},
          {"environment", strings(facts.environment_names)},
          {"working_directory", json_text(facts.working_directory)}};
}

json exit_part(const std::optional<ExitStatus>& exit) {
  if (!exit) return nullptr;
  const char* how = exit->how == ExitStatus::How::kExited   ? "exited"
                    : exit->how == ExitStatus::How::kSignal ? "signal"
                                                            : "killed_with_the_sandbox";
  return {{"how", how},
          {"code", exit->code},
          {"memory_kills", exit->oom_kills},
          {"refused_forks", exit->process_limit_hits}};
}

json network_part(std::vector<DestinationSummary> destinations) {
  std::sort(destinations.begin(), destinations.end(), [](const auto& a, const auto& b) {
    return std::tie(a.destination, a.treatment) < std::tie(b.destination, b.treatment);
  });
  json out = json::array();
  for (const auto& one : destinations)
    out.push_back({{"destination", json_text(one.destination)},
                   {"treatment", json_text(one.treatment)},
                   {"allowed", one.allowed},
                   {"denied", one.denied},
                   {"upload_bytes", one.upload_bytes},
                   {"download_bytes", one.download_bytes},
                   {"reason", json_text(one.reason)}});
  return out;
}

json refused_part(const std::vector<RefusalSummary>& refused) {
  json out = json::array();
  for (const auto& one : refused)
    out.push_back({{"what", json_text(one.what)},
                   {"reason", json_text(one.reason)},
                   {"count", one.count},
                   {"rule", json_text(one.rule)}});
  return out;
}

json audit_part(const std::optional<AuditRecordRef>& record) {
  if (!record) return nullptr;
  return {{"sequence", record->sequence}, {"hash", json_text(record->hash)}};
}

json cleanup_part(const std::vector<CleanupStep>& steps) {
  json out = json::array();
  for (const auto& step : steps)
    out.push_back({{"name", json_text(step.name)}, {"completed", step.completed}, {"error", json_text(step.error)}});
  return out;
}

}  // namespace

std::string_view to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::kSuccess:
      return "success";
    case Outcome::kProgramError:
      return "program_error";
    case Outcome::kPolicyDenial:
      return "policy_denial";
    case Outcome::kResourceLimit:
      return "resource_limit";
    case Outcome::kPlatformFailure:
      return "platform_failure";
    case Outcome::kCancelled:
      return "cancelled";
  }
  return "platform_failure";
}

std::string receipt_json(const Receipt& receipt) {
  // nlohmann's objects are sorted by key: the order is canonical.
  json document = {
      {"receipt", "sallyport-receipt/1"},
      {"signature", nullptr},
      {"signed", false},
      {"task", json_text(receipt.task)},
      {"owner", json_text(receipt.owner)},
      {"policy",
       {{"name", json_text(receipt.policy_name)},
        {"version", json_text(receipt.policy_version)},
        {"sha256", json_text(receipt.policy_sha256)}}},
      {"command", {{"arguments", strings(receipt.command)}, {"sha256", command_sha256(receipt.command)}}},
      {"inputs", strings(receipt.inputs)},
      {"runtime", runtime_part(receipt.runtime)},
      {"started", time_text(receipt.started)},
      {"ended", time_text(receipt.ended)},
      {"outcome", std::string(to_string(receipt.outcome))},
      {"limit", json_text(receipt.limit)},
      {"detail", json_text(receipt.detail)},
      {"exit", exit_part(receipt.exit)},
      {"exit_code", receipt.exit_code},
      {"output",
       {{"stdout_bytes", receipt.stdout_bytes},
        {"stderr_bytes", receipt.stderr_bytes},
        {"truncated", receipt.output_truncated}}},
      {"network", network_part(receipt.network)},
      {"refused", refused_part(receipt.refused)},
      {"refused_kinds", receipt.refused_kinds},
      {"observed", receipt.observed},
      {"audit", {{"first", audit_part(receipt.audit_first)}, {"last", audit_part(receipt.audit_last)}}},
      {"cleanup", cleanup_part(receipt.cleanup)},
  };
  return document.dump(2, ' ', true) + "\n";
}

}  // namespace sallyport::launcher
