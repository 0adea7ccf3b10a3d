// golden/: a policy, what it is asked, and to the letter what explain says; two policies and what diff says. To write
// the texts anew after a message was changed on purpose, run with SALLYPORT_GOLDEN=write and read the difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "policies/engine/engine_test_support.h"
#include "policies/review/diff.h"
#include "policies/review/explain.h"

namespace sallyport::policy::review {
namespace {

namespace fs = std::filesystem;

fs::path folder() { return fs::path(SALLYPORT_SOURCE_DIR) / "policies/review/golden"; }

std::string read(const std::string& name) {
  std::ifstream in(folder() / name, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::shared_ptr<const CompiledPolicy> policy(const std::string& name) {
  auto outcome = load(read(name), name);
  EXPECT_TRUE(outcome.policy) << testing::all_text(outcome);
  return outcome.policy ? outcome.policy : deny_all();
}

void expect_golden(const std::string& name, const std::string& said) {
  const char* mode = std::getenv("SALLYPORT_GOLDEN");
  if (mode != nullptr && std::string_view(mode) == "write") std::ofstream(folder() / name, std::ios::binary) << said;
  EXPECT_EQ(read(name), said);
  for (char c : said) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << name;
}

TEST(ReviewGolden, Explain) {
  auto shop = policy("shop.yaml");
  std::istringstream questions(read("shop.ask"));
  std::string said;
  for (std::string line; std::getline(questions, line);) {
    auto inquiry = Inquiry::parse(line);
    ASSERT_TRUE(inquiry) << line << inquiry.error().detail;
    said += "$ explain '" + line + "'\n" +
            render(explain(*shop, inquiry.value(), 3), *shop, inquiry.value(), "shop.yaml") + "\n";
  }
  expect_golden("shop.explain.txt", said);
}

TEST(ReviewGolden, Diff) {
  auto before = policy("shop.yaml"), after = policy("shop.after.yaml");
  expect_golden("shop.diff.txt", render(diff(*before, *after), "shop.yaml", "shop.after.yaml") + "\n" +
                                     render(diff(*after, *before), "shop.after.yaml", "shop.yaml"));
}

// Whatever explain offers is what would allow it.
TEST(ReviewGolden, WhatIsOfferedWouldAllowIt) {
  auto shop = policy("shop.yaml");
  std::istringstream questions(read("shop.ask"));
  int offered = 0;
  for (std::string line; std::getline(questions, line);) {
    auto inquiry = Inquiry::parse(line).value();
    auto explanation = explain(*shop, inquiry);
    if (!explanation.would_allow) continue;
    std::string text = read("shop.yaml");
    text.insert(text.find("budgets:"), "  " + *explanation.would_allow + "\n");
    auto loaded = load(text, "with");
    if (!loaded.policy) continue;  // beside a rule of another kind on the same port; policy add says so
    ++offered;
    EXPECT_TRUE(ask(*loaded.policy, inquiry).allowed()) << line << "\n" << *explanation.would_allow;
  }
  EXPECT_GT(offered, 5);
}

}  // namespace
}  // namespace sallyport::policy::review
