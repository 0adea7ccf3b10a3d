#include "policies/engine/reason.h"

#include <gtest/gtest.h>

#include <set>

namespace sallyport::policy {
namespace {

TEST(ReasonCode, HasAStableTextThatReadsBack) {
  std::set<std::string_view> texts;
  for (int i = 0; i < kReasonCodes; ++i) {
    auto code = reason_of(static_cast<std::uint32_t>(i));
    ASSERT_TRUE(code);
    auto text = to_string(*code);
    EXPECT_TRUE(texts.insert(text).second) << text;
    EXPECT_EQ(reason_of(text), code);
    EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << text;
    EXPECT_FALSE(describe(*code).empty());
    EXPECT_FALSE(describe(*code).ends_with('.'));
    EXPECT_EQ(category(*code) == Category::kAllowed, *code == ReasonCode::kAllowed);
  }
  EXPECT_EQ(to_string(ReasonCode::kNoRule), "no_rule");
  EXPECT_EQ(to_string(ReasonCode::kSniMismatch), "sni_mismatch");
}

TEST(ReasonCode, DeniesANumberThatIsNone) {
  EXPECT_FALSE(reason_of(static_cast<std::uint32_t>(kReasonCodes)));
  EXPECT_FALSE(reason_of(std::string_view("no_such_reason")));
  EXPECT_EQ(to_string(static_cast<ReasonCode>(250)), "internal");
}

}  // namespace
}  // namespace sallyport::policy
