#include "control/recorded_decisions/refusals.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace sallyport::control {

namespace review = policy::review;

Refusals most_refused(const std::vector<review::Recorded>& log, std::size_t kept) {
  struct Group {
    const review::Recorded* first;
    std::uint64_t count = 0;
  };
  auto refused = [](const review::Recorded& r) {
    return !r.allowed() && (r.by_policy() || r.reason == policy::ReasonCode::kFloor);
  };
  std::set<std::string> used;
  for (const auto& recorded : log)
    if (recorded.inquiry.kind != review::Inquiry::Kind::kName && refused(recorded))
      used.insert(recorded.inquiry.target.text());
  std::map<std::pair<std::string, policy::ReasonCode>, Group> groups;
  for (const auto& recorded : log) {
    if (!refused(recorded)) continue;
    if (recorded.inquiry.kind == review::Inquiry::Kind::kName && used.contains(recorded.inquiry.target.text()))
      continue;
    Group& group = groups.try_emplace({recorded.inquiry.text(), recorded.reason}, Group{&recorded}).first->second;
    group.count += recorded.count;
  }
  Refusals out;
  out.kinds = groups.size();
  for (const auto& [key, group] : groups) {
    out.total += group.count;
    out.most.push_back({key.first, std::string(to_string(key.second)), group.count, {}});
  }
  std::ranges::sort(out.most, [](const Refusal& a, const Refusal& b) {
    return std::tie(b.count, a.what) < std::tie(a.count, b.what);
  });
  if (out.most.size() > kept) out.most.resize(kept);
  for (Refusal& refusal : out.most) {
    auto reason = policy::reason_of(std::string_view(refusal.reason));
    bool no_rule_helps = reason == policy::ReasonCode::kDeniedByRule || reason == policy::ReasonCode::kFloor ||
                         reason == policy::ReasonCode::kNotWithinCeiling ||
                         reason == policy::ReasonCode::kMethodOverride || reason == policy::ReasonCode::kPathAmbiguous;
    // The log has neither query nor type: a rule without them would void what the policy says of both.
    bool needs_more =
        reason == policy::ReasonCode::kQueryNotAllowed || reason == policy::ReasonCode::kContentTypeNotAllowed;
    if (no_rule_helps || needs_more) continue;
    const Group& group = groups.at({refusal.what, *reason});
    if (auto line = review::rule_for(group.first->inquiry)) refusal.rule = *line;
    if (group.first->inquiry.kind == review::Inquiry::Kind::kName) refusal.what = "lookup " + refusal.what;
  }
  return out;
}

}  // namespace sallyport::control
