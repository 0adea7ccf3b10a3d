#include <algorithm>
#include <map>

#include "core/base/escape.h"
#include "policies/engine/rule_index.h"
#include "policies/review/explain.h"
#include "policies/review/recorded.h"

namespace sallyport::policy::review {
namespace {

constexpr std::size_t kMostShown = 100;

std::string then_text(const Recorded& recorded) {
  return recorded.allowed() ? "allowed" : "denied, " + std::string(to_string(recorded.reason));
}

}  // namespace

Replayed replay(const CompiledPolicy& policy, const std::vector<Recorded>& log) {
  Replayed out;
  std::map<std::pair<std::string, bool>, std::size_t> known;
  for (const Rule& rule : policy.rules()) {
    const auto& request = policy.index().terms(rule.index).request;
    out.asks_for_queries = out.asks_for_queries || (request != nullptr && request->query);
  }
  for (const Recorded& recorded : log) {
    if (!recorded.by_policy()) {
      out.passed_over += recorded.count;
      continue;
    }
    auto answer = ask(policy, recorded.inquiry);
    if (answer.allowed() == recorded.allowed()) {
      out.same += recorded.count;
      continue;
    }
    auto [place, fresh] = known.try_emplace({recorded.inquiry.text(), recorded.allowed()}, out.changes.size());
    if (fresh) out.changes.push_back({recorded.inquiry, then_text(recorded), summary(answer), 0, answer.allowed()});
    out.changes[place->second].count += recorded.count;
  }
  return out;
}

std::string render(const Replayed& replayed) {
  std::string out;
  std::size_t shown = 0;
  for (const auto& change : replayed.changes) {
    if (++shown > kMostShown) break;
    out += std::string(change.allowed_now ? "now allowed: " : "now denied:  ") + change.inquiry.text();
    if (change.count > 1) out += "  (" + std::to_string(change.count) + " times)";
    out += "\n  then: " + change.then + "\n  now:  " + change.now + "\n";
  }
  if (replayed.changes.size() > kMostShown)
    out += "and " + std::to_string(replayed.changes.size() - kMostShown) + " more\n";
  if (replayed.asks_for_queries)
    out +=
        "note: rules of this policy look at queries, which an audit log does not hold: they were asked without one\n";
  std::uint64_t changed = 0;
  for (const auto& change : replayed.changes) changed += change.count;
  out += std::to_string(changed) + " decisions would be others, " + std::to_string(replayed.same) + " the same";
  if (replayed.passed_over != 0) out += ", " + std::to_string(replayed.passed_over) + " were not the policy's";
  return out + "\n";
}

}  // namespace sallyport::policy::review
