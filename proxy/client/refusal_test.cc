#include "proxy/client/refusal.h"

#include <gtest/gtest.h>

namespace sallyport::proxy {
namespace {

using policy::Category;
using policy::ReasonCode;

std::uint16_t status_of(std::string_view reason) { return http_status(policy::reason_of(reason).value()); }

TEST(HttpStatus, EveryReasonHasOneThatFitsItsCategory) {
  for (int number = 0; number < policy::kReasonCodes; ++number) {
    auto reason = static_cast<ReasonCode>(number);
    auto status = http_status(reason);
    switch (policy::category(reason)) {
      case Category::kPolicy:
        EXPECT_TRUE(status == 403 || (status == 400 && reason == ReasonCode::kPathAmbiguous)) << policy::to_string(reason);
        break;
      case Category::kAddress:
        EXPECT_EQ(status, 403) << policy::to_string(reason);
        break;
      case Category::kBudget:
        EXPECT_TRUE(status == 413 || status == 429 || status == 408) << policy::to_string(reason);
        break;
      case Category::kProtocol:
        EXPECT_TRUE(status >= 400 && status < 500) << policy::to_string(reason);
        break;
      case Category::kUpstream:
        EXPECT_TRUE(status >= 502 && status <= 504) << policy::to_string(reason);
        break;
      default:
        EXPECT_TRUE(status == 500 || status == 503) << policy::to_string(reason);
    }
  }
}

TEST(HttpStatus, IsWhatTheDocumentationSays) {
  EXPECT_EQ(status_of("no_rule"), 403);
  EXPECT_EQ(status_of("host_mismatch"), 421);
  EXPECT_EQ(status_of("malformed"), 400);
  EXPECT_EQ(status_of("budget_upload"), 413);
  EXPECT_EQ(status_of("budget_download"), 429);
  EXPECT_EQ(status_of("upstream_timeout"), 504);
  EXPECT_EQ(status_of("upstream_closed"), 502);
  EXPECT_EQ(status_of("audit_unavailable"), 503);
}

TEST(HttpStatus, NoRefusalIsASuccess) {
  for (int number = 0; number < policy::kReasonCodes; ++number) EXPECT_GE(http_status(static_cast<ReasonCode>(number)), 400);
}

}  // namespace
}  // namespace sallyport::proxy
