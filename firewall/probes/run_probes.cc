#include "firewall/probes/run_probes.h"

#include <algorithm>

#include "firewall/probes/answered_probe.h"
#include "firewall/probes/refused_probe.h"
#include "firewall/probes/structure_probe.h"

namespace sallyport::firewall {

namespace {

// When something is open already, the answers only add to the evidence: lost packets are not waited for to the end.
constexpr auto kPatienceAfterFailure = std::chrono::milliseconds(300);

}  // namespace

// Structure and refusals take no time, so that the whole deadline is left for the answers.
std::vector<ProbeOutcome> run_probes(const ProbeContext& context) {
  std::vector<ProbeOutcome> outcomes;
  std::vector<Probe> to_answer;
  for (const ProbeInfo& info : all_probes()) {
    if (info.kind == ProbeKind::kStructure) outcomes.push_back(probe_structure(info.probe, context));
    if (info.kind == ProbeKind::kRefused) outcomes.push_back(probe_refused(info.probe));
    if (info.kind == ProbeKind::kTcp || info.kind == ProbeKind::kDns) to_answer.push_back(info.probe);
  }
  ProbeContext rest = context;
  bool is_open =
      std::ranges::any_of(outcomes, [](const ProbeOutcome& outcome) { return outcome.status == ProbeStatus::kFailed; });
  if (is_open) rest.deadline = rest.deadline.earlier(Deadline::after(kPatienceAfterFailure));
  for (ProbeOutcome& outcome : probe_answered(to_answer, rest)) outcomes.push_back(std::move(outcome));
  auto place = [](const ProbeOutcome& outcome) {
    return std::ranges::find(all_probes(), outcome.probe, &ProbeInfo::probe) - all_probes().begin();
  };
  std::ranges::sort(outcomes, {}, place);
  return outcomes;
}

}  // namespace sallyport::firewall
