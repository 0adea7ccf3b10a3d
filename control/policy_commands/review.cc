#include "control/policy_commands/review.h"

#include <cstdio>

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

int diff_policies(const std::string& before, const std::string& after) {
  auto a = open_policy(before), b = a ? open_policy(after) : std::nullopt;
  if (!a || !b) return kNoAnswer;
  auto difference = review::diff(*a->loaded.policy, *b->loaded.policy);
  std::fputs(review::render(difference, before, after).c_str(), stdout);
  return difference.is_wider() ? kNo : kYes;
}

}  // namespace sallyport::control
