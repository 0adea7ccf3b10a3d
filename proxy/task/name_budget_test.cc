#include "proxy/task/name_budget.h"

#include <gtest/gtest.h>

namespace sallyport::proxy {
namespace {

HostName name(int i) { return HostName::parse("n" + std::to_string(i) + ".test").value(); }

TEST(NameBudget, DeniesTheNameAfterTheLast) {  // dns-003
  NameBudget budget(50);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(budget.admit(name(i)));
  for (int i = 50; i < 200; ++i) EXPECT_FALSE(budget.admit(name(i)));
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(budget.admit(name(i))) << "repeats cost nothing";
  EXPECT_EQ(budget.used(), 50u);
}

TEST(NameBudget, AdmitsEverythingWithoutALimitAndKeepsNothing) {
  NameBudget budget(std::nullopt);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(budget.admit(name(i)));
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace sallyport::proxy
