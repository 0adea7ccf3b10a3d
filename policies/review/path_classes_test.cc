#include "policies/review/path_classes.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "policies/engine/path.h"

namespace sallyport::policy::review {
namespace {

struct Patterns {
  std::vector<PathPattern> exact, loose;

  void allow(std::string_view text) { exact.push_back(PathPattern::parse(text).value()); }
  void deny(std::string_view text) { loose.push_back(PathPattern::parse(text).value().for_denial()); }

  PathClasses classes(std::size_t work = kPathWork) const {
    std::vector<const PathPattern*> e, l;
    for (const auto& p : exact) e.push_back(&p);
    for (const auto& p : loose) l.push_back(&p);
    return path_classes(e, l, work);
  }
  // Which patterns match, by the engine's own matcher.
  std::string kind(std::string_view text) const {
    auto path = CanonicalPath::parse(text);
    if (!path) return "none";
    PathTokens tokens, loose_tokens;
    split_path(path.value().text(), tokens);
    std::string loosened_text = loosened(path.value().text());
    split_path(loosened_text, loose_tokens);
    std::string out;
    for (const auto& p : exact) out += p.matches(tokens) ? '1' : '0';
    for (const auto& p : loose) out += p.matches(loose_tokens) ? '1' : '0';
    return out + (path.value().ambiguous() ? "a" : "");
  }
};

TEST(PathClasses, KnowsTheKindsOfOnePattern) {
  Patterns patterns;
  patterns.allow("/v1/*");
  auto found = patterns.classes();
  EXPECT_TRUE(found.complete);
  std::set<std::string> kinds;
  for (const auto& path : found.paths) kinds.insert(patterns.kind(path));
  EXPECT_EQ(kinds, (std::set<std::string>{"0", "1", "0a", "1a"}));
}

TEST(PathClasses, SeesWhatOnlyADenialDecodes) {
  Patterns patterns;
  patterns.allow("/%40me");
  patterns.deny("/@me");
  std::set<std::string> kinds;
  for (const auto& path : patterns.classes().paths) kinds.insert(patterns.kind(path));
  EXPECT_TRUE(kinds.contains("11"));  // "/%40me"
  EXPECT_TRUE(kinds.contains("01"));  // "/@me"
}

TEST(PathClasses, ReadsCharactersBeyondAscii) {
  Patterns patterns;
  patterns.allow("/caf%C3%A9/*");
  patterns.deny("/caf%C3%A9/x");
  auto found = patterns.classes();
  EXPECT_TRUE(found.complete);
  std::set<std::string> kinds;
  for (const auto& path : found.paths) kinds.insert(patterns.kind(path));
  EXPECT_TRUE(kinds.contains("11"));
  EXPECT_TRUE(kinds.contains("10"));
}

TEST(PathClasses, KnowsWhatAnEncodedPercentMakesAmbiguous) {
  Patterns patterns;
  patterns.allow("/%25*");
  auto found = patterns.classes();
  EXPECT_TRUE(found.complete);
  std::set<std::string> kinds;
  for (const auto& path : found.paths) kinds.insert(patterns.kind(path));
  EXPECT_EQ(kinds, (std::set<std::string>{"0", "1", "0a", "1a"}));
}

TEST(PathClasses, SaysSoWhenItGivesUp) {
  Patterns patterns;
  for (int i = 0; i < 40; ++i)
    patterns.allow("/*" + std::string(1, static_cast<char>('a' + i % 26)) + "*" + std::to_string(i) + "*/x");
  EXPECT_FALSE(patterns.classes(100'000).complete);
}

// Every path that can be made of few characters is of a kind that was found.
TEST(PathClasses, MissesNoKindOfAnyPath) {
  std::mt19937 engine(5);
  auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine); };
  auto segment = [&](bool pattern) {
    constexpr std::string_view kPlain[] = {"a",    "b", "ab",     "%40", "@",   ".a", "%25",
                                           "a%25", "4", "%C3%A9", ";",   "..a", "%2e"};
    constexpr std::string_view kWild[] = {"*", "a*", "*b", "a*b", "*%40", "%25*", ".*", "*4"};
    return std::string(pattern && below(3) == 0 ? kWild[below(std::size(kWild))] : kPlain[below(std::size(kPlain))]);
  };
  auto path = [&](bool pattern) {
    std::string out;
    for (std::size_t n = below(3) + 1; n > 0; --n)
      out += "/" + (pattern && n == 1 && below(3) == 0 ? "**" : segment(pattern));
    return below(6) == 0 ? out + "/" : out;
  };
  int policies = 0, paths = 0;
  for (int round = 0; round < 1500; ++round) {
    Patterns patterns;
    for (std::size_t n = below(4) + 1; n > 0; --n) {
      auto text = path(true);
      if (!PathPattern::parse(text)) continue;
      below(3) == 0 ? patterns.deny(text) : patterns.allow(text);
    }
    auto found = patterns.classes();
    ASSERT_TRUE(found.complete);
    std::set<std::string> kinds;
    for (const auto& p : found.paths) kinds.insert(patterns.kind(p));
    ASSERT_EQ(kinds.size(), found.paths.size());  // one each
    ++policies;
    for (int i = 0; i < 60; ++i) {
      auto text = path(false);
      auto kind = patterns.kind(text);
      if (kind == "none") continue;
      ++paths;
      ASSERT_TRUE(kinds.contains(kind)) << text << " " << kind;
    }
  }
  EXPECT_GT(policies, 1000);
  EXPECT_GT(paths, 20000);
}

}  // namespace
}  // namespace sallyport::policy::review
