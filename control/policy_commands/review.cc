#include "control/policy_commands/review.h"

#include <cstdio>
#include <optional>
#include <string_view>

#include "control/policy_commands/policy_file.h"
#include "policies/review/diff.h"
#include "policies/review/run_tests.h"

namespace sallyport::control {

namespace review = policy::review;

int test_policy(const std::string& file, const std::string& ceiling) {
  auto opened = open_policy(file, ceiling);
  if (!opened) return kNoAnswer;
  auto report = review::run_tests(*opened->loaded.policy, *opened->loaded.document);
  std::fputs(review::render(report, file).c_str(), stdout);
  return report.tests > 0 && report.failures.empty() ? kYes : kNo;
}

int diff_policies(const std::string& before, const std::string& after, const std::string& ceiling) {
  std::optional<review::Diff> shown;
  // What a rule writes out can be the id of one of them, never of both.
  for (std::string_view task : {"t-0000000000000000", "t-ffffffffffffffff"}) {
    auto a = open_policy(before, ceiling, task), b = a ? open_policy(after, ceiling, task) : std::nullopt;
    if (!a || !b) return kNoAnswer;
    auto difference = review::diff(*a->loaded.policy, *b->loaded.policy);
    if (!shown || shown->is_same() || difference.is_wider()) shown = std::move(difference);
    bool by_task =
        a->text.find("{task}") != std::string::npos || b->text.find("{task}") != std::string::npos || !ceiling.empty();
    if (shown->is_wider() || !by_task) break;
  }
  std::fputs(review::render(*shown, before, after).c_str(), stdout);
  return shown->is_wider() ? kNo : kYes;
}

}  // namespace sallyport::control
