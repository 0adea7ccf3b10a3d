#include "control/policy_commands/explain.h"

#include <cstdio>

#include "control/policy_commands/policy_file.h"
#include "policies/review/explain.h"

namespace sallyport::control {

namespace review = policy::review;

int explain_policy(const ExplainOptions& options) {
  auto inquiry = review::Inquiry::parse(options.question);
  if (!inquiry) return no_answer(inquiry.error().detail);
  if (!options.content_type.empty() && inquiry.value().kind != review::Inquiry::Kind::kHttp)
    return no_answer("--content-type is that of the body of an http:// request");
  inquiry.value().content_type = options.content_type;
  auto opened = open_policy(options.file, options.ceiling);
  if (!opened) return kNoAnswer;
  const auto& policy = *opened->loaded.policy;
  auto explanation = review::explain(policy, inquiry.value(), options.nearest);
  std::fputs(review::render(explanation, policy, inquiry.value(), options.file).c_str(), stdout);
  return explanation.answer.allowed() ? kYes : kNo;
}

}  // namespace sallyport::control
