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

TEST(DenialLog, TellsReasonsApart) {
  DenialLog log;
  log.add(entry("connect a:1", "d1"));
  log.add(entry("connect a:1", "d2", ReasonCode::kBudgetConcurrent));
  EXPECT_EQ(log.entries().size(), 2u);
}

}  // namespace
}  // namespace sallyport::proxy
