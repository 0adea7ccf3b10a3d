#include "core/base/secret.h"

#include <gtest/gtest.h>

#include <array>
#include <concepts>
#include <sstream>

namespace sallyport {
namespace {

template <class T>
concept Printable = requires(std::ostream& out, const T& value) { out << value; };

TEST(Secret, CannotBeCopiedPrintedOrComparedByAccident) {
  static_assert(!std::copyable<Secret>);
  static_assert(!Printable<Secret>);
  static_assert(!std::equality_comparable<Secret>);
  static_assert(Printable<std::string> && std::equality_comparable<std::string>, "the control");
}

TEST(Secret, HoldsAndMovesItsBytes) {
  Secret secret = Secret::copy_of("token");
  EXPECT_EQ(secret.view(), "token");
  Secret moved = std::move(secret);
  EXPECT_EQ(moved.view(), "token");
  EXPECT_TRUE(secret.empty());  // NOLINT(bugprone-use-after-move): that it is empty is the contract
  secret = std::move(moved);
  EXPECT_EQ(secret.size(), 5U);
  secret.wipe();
  EXPECT_TRUE(secret.empty());
  EXPECT_EQ(secret.view(), "");
}

TEST(Secret, EqualsOnlyTheSameBytes) {
  Secret secret = Secret::copy_of("token");
  EXPECT_TRUE(secret.equals(Secret::copy_of("token")));
  EXPECT_FALSE(secret.equals(Secret::copy_of("tokem")));
  EXPECT_FALSE(secret.equals(Secret::copy_of("toke")));
  EXPECT_FALSE(secret.equals(Secret::copy_of("token ")));
  EXPECT_FALSE(secret.equals(Secret()));
  EXPECT_TRUE(Secret().equals(Secret()));
}

TEST(Secret, TakingWipesTheSource) {
  for (std::string text : {std::string("short"), std::string("longer than the small string buffer holds")}) {
    std::string expected = text;
    text.reserve(text.size() + 1);
    const char* where = text.data();
    std::size_t size = text.size();
    Secret secret = Secret::take(std::move(text));
    EXPECT_EQ(secret.view(), expected);
    EXPECT_TRUE(text.empty());  // NOLINT(bugprone-use-after-move)
    ASSERT_EQ(text.data(), where);
    // The allocation is still the string's: what is left behind its end, which clear() does not touch.
    const volatile char* left = where;
    for (std::size_t at = 1; at < size; ++at) EXPECT_EQ(left[at], '\0');
  }
}

TEST(Secret, WipesMemory) {
  std::array<std::uint8_t, 4> bytes{1, 2, 3, 4};
  wipe_memory(bytes);
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 4>{}));
  Secret secret = Secret::of_size(3);
  EXPECT_EQ(secret.view(), std::string_view("\0\0\0", 3));
  secret.writable()[1] = 7;
  EXPECT_EQ(secret.bytes()[1], 7);
}

}  // namespace
}  // namespace sallyport
