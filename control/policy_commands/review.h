// `sallyport policy test FILE` and `sallyport policy diff A B`: gates for a review.
#pragma once

#include <string>

namespace sallyport::control {

// Holds the tests of a policy against it. 0: all pass, 1: some fail or there are none, 2: no answer.
int test_policy(const std::string& file, const std::string& ceiling);
// 0: `after` allows nothing that `before` denies, 1: it does or that cannot be decided, 2: no answer.
// Both within `ceiling`, where it is not empty. {task} is compared as the ids of two tasks, which share no digit.
int diff_policies(const std::string& before, const std::string& after, const std::string& ceiling);

}  // namespace sallyport::control
