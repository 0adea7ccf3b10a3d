#include "proxy/task/denial_log.h"

#include <gtest/gtest.h>

namespace sallyport::proxy {
namespace {

using policy::ReasonCode;

DenialEntry entry(std::string what, std::string decision, ReasonCode reason = ReasonCode::kNoRule) {
  return {std::move(what), reason, {}, std::move(decision), 1};
}

TEST(DenialLog, KeepsTheNewestAndCountsAll) {
  DenialLog log;
  for (std::size_t i = 0; i < 10 * DenialLog::kKept; ++i) log.add(entry("connect h" + std::to_string(i) + ":1", "d" + std::to_string(i)));
  EXPECT_EQ(log.entries().size(), DenialLog::kKept);
  EXPECT_EQ(log.total(), 10 * DenialLog::kKept);
  EXPECT_EQ(log.entries().front().decision, "d" + std::to_string(10 * DenialLog::kKept - 1));
}

TEST(DenialLog, CountsTheSameThingOnce) {
  DenialLog log;
  for (int i = 0; i < 1000; ++i) log.add(entry("connect a:1", "d" + std::to_string(i)));
  ASSERT_EQ(log.entries().size(), 1u);
  EXPECT_EQ(log.entries().front().count, 1000u);
  EXPECT_EQ(log.entries().front().decision, "d999");
}

TEST(DenialLog, KeepsWhatIsRefusedOftenBeforeWhatIsRefusedOnce) {
  DenialLog log;
  for (int i = 0; i < 3; ++i) log.add(entry("connect often:1", "d"));
  for (std::size_t i = 0; i < 10 * DenialLog::kKept; ++i)
    log.add(entry("connect h" + std::to_string(i) + ":1", "d" + std::to_string(i)));
  EXPECT_EQ(log.entries().size(), DenialLog::kKept);
  EXPECT_EQ(log.entries().back().what, "connect often:1");
  EXPECT_EQ(log.entries().front().decision, "d" + std::to_string(10 * DenialLog::kKept - 1));
}

TEST(DenialEntry, KnowsTheRuleThatWouldAllowIt) {
  policy::Target target = HostName::parse("denied.test").value();
  DenialEntry request{"", ReasonCode::kNoRule, {}, {}, 1, target, 80, "GET", "/x"};
  EXPECT_EQ(request.rule(), "- allow: GET http://denied.test/x");
  EXPECT_EQ((DenialEntry{"", ReasonCode::kNoRule, {}, {}, 1, target, 8443}.rule()), "- allow: tls://denied.test:8443");
  EXPECT_EQ((DenialEntry{"", ReasonCode::kNoRule, {}, {}, 1, target}.rule()), "- allow: tls://denied.test");
  for (auto reason : {ReasonCode::kDeniedByRule, ReasonCode::kFloor, ReasonCode::kBudgetUpload,
                      ReasonCode::kNotWithinCeiling, ReasonCode::kQueryNotAllowed, ReasonCode::kContentTypeNotAllowed})
    EXPECT_EQ((DenialEntry{"", reason, {}, {}, 1, target, 80, "GET", "/x"}.rule()), "");
  EXPECT_EQ((DenialEntry{"", ReasonCode::kNoRule, {}, {}, 1, target, 80, "G\x1b", "/\x1b"}.rule()), "");
  EXPECT_EQ(entry("x", "d").rule(), "");
}

TEST(DenialLog, TellsReasonsApart) {
  DenialLog log;
  log.add(entry("connect a:1", "d1"));
  log.add(entry("connect a:1", "d2", ReasonCode::kBudgetConcurrent));
  EXPECT_EQ(log.entries().size(), 2u);
}

}  // namespace
}  // namespace sallyport::proxy
