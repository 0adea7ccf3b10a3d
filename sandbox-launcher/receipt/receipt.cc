#include "sandbox-launcher/receipt/receipt.h"
namespace sallyport::launcher {
std::string_view to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::kSuccess: return "success";
    case Outcome::kProgramError: return "program_error";
    case Outcome::kPolicyDenial: return "policy_denial";
    case Outcome::kResourceLimit: return "resource_limit";
    case Outcome::kPlatformFailure: return "platform_failure";
    case Outcome::kCancelled: return "cancelled";
  }
  return "platform_failure";
}
}  // namespace sallyport::launcher
