#include "firewall/api/verify_probes.h"

#include <string_view>

namespace sallyport::firewall {

namespace {

ProbeFailure failure(const ProbeInfo& info, std::string_view seen, std::string_view detail = {}) {
  std::string text = std::string(info.name) + ": " + std::string(info.hole) + " (" + std::string(seen);
  if (!detail.empty()) text += ": " + std::string(detail);
  return {info.probe, text + ")"};
}

ProbeStatus required_of(ProbeKind kind) noexcept {
  switch (kind) {
    case ProbeKind::kStructure:
      return ProbeStatus::kClean;
    case ProbeKind::kTcp:
    case ProbeKind::kDns:
      return ProbeStatus::kAnswered;
    case ProbeKind::kRefused:
      return ProbeStatus::kBlocked;
  }
  return ProbeStatus::kClean;
}

bool is_recorded(ProbeKind kind) noexcept { return kind == ProbeKind::kTcp || kind == ProbeKind::kDns; }

// The address a probe is sent to; `resolver4` for the one whose address is the task's own.
Result<IpAddress> destination_of(const ProbeInfo& info, const IpAddress& resolver4) {
  if (info.probe == Probe::kResolver) return resolver4;
  return IpAddress::parse(info.destination);
}

void check_reported(const ProbeInfo& info, std::span<const ProbeOutcome> reported,
                    std::vector<ProbeFailure>& failures) {
  const ProbeOutcome* found = nullptr;
  for (const ProbeOutcome& outcome : reported) {
    if (outcome.probe != info.probe) continue;
    if (found) return failures.push_back(failure(info, "reported twice"));
    found = &outcome;
  }
  if (!found) return failures.push_back(failure(info, "not tried"));
  if (found->status == required_of(info.kind)) return;
  failures.push_back(failure(info, found->detail.empty() ? "not the outcome it must have" : found->detail));
}

void check_recorded(const ProbeInfo& info, const ExpectedProbes& expected, std::span<const ProbeRecord> recorded,
                    std::vector<ProbeFailure>& failures) {
  auto destination = destination_of(info, expected.resolver4);
  if (!destination) return failures.push_back(failure(info, "no destination"));
  bool seen = false;
  for (const ProbeRecord& record : recorded) {
    if (record.nonce != expected.nonce || record.probe != info.probe) continue;
    if (record.destination != destination.value() || record.port != info.port) {
      return failures.push_back(failure(info, "the proxy saw it with destination " + record.destination.text() +
                                                  " port " + std::to_string(record.port)));
    }
    seen = true;
  }
  if (!seen) failures.push_back(failure(info, "the proxy has no record of it: something else took it"));
}

}  // namespace

std::vector<ProbeFailure> verify_probes(const ExpectedProbes& expected, std::span<const ProbeOutcome> reported,
                                        std::span<const ProbeRecord> recorded) {
  std::vector<ProbeFailure> failures;
  for (const ProbeInfo& info : all_probes()) {
    std::size_t before = failures.size();
    check_reported(info, reported, failures);
    if (is_recorded(info.kind) && failures.size() == before) check_recorded(info, expected, recorded, failures);
  }
  return failures;
}

std::string describe(std::span<const ProbeFailure> failures) {
  if (failures.empty()) return "self-test passed";
  std::string text = "self-test failed: ";
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (i > 0) text += "; ";
    text += failures[i].detail;
  }
  return text;
}

}  // namespace sallyport::firewall
