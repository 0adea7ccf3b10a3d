// run_tests: the `tests:` of a policy held against it. Pure.
#pragma once

#include <string>
#include <vector>

#include "policies/engine/document.h"
#include "policies/review/inquiry.h"

namespace sallyport::policy::review {

struct TestFailure {
  Position at;           // in the file
  std::string asked;     // as written, escaped
  std::string expected;  // "allowed", "denied", "allowed by rule prices"
  std::string got;       // a summary of the answer
  std::string why;       // describe() of the reason, or why the rule that was expected did not decide; may be empty
};

struct TestReport {
  std::size_t tests = 0;
  std::vector<TestFailure> failures;
};

TestReport run_tests(const CompiledPolicy& policy, const PolicyDocument& document);

// For a terminal: each failure in a few lines, and one line at the end.
std::string render(const TestReport& report, std::string_view file);

}  // namespace sallyport::policy::review
