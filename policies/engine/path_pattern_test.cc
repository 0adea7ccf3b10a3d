#include "policies/engine/path_pattern.h"

#include <gtest/gtest.h>

namespace sallyport::policy {
namespace {

PathPattern pattern(std::string_view text) { return PathPattern::parse(text).value(); }

bool matches(std::string_view text, std::string_view path) {
  PathTokens tokens;
  split_path(path, tokens);
  return pattern(text).matches(tokens);
}

TEST(PathPattern, StaysInASegmentWithOneStar) {  // path-012
  EXPECT_TRUE(matches("/v1/user/*", "/v1/user/7"));
  for (auto path : {"/v1/users", "/v1/user.json", "/v1/user/", "/v1/user", "/V1/user/7", "/v1/user/7/8"})
    EXPECT_FALSE(matches("/v1/user/*", path)) << path;
  EXPECT_TRUE(matches("/v1/user", "/v1/user"));
  for (auto path : {"/v1/users", "/v1/user/", "/v1/user.json"}) EXPECT_FALSE(matches("/v1/user", path)) << path;
  EXPECT_TRUE(matches("/r-*.json", "/r-12.json"));
  EXPECT_FALSE(matches("/r-*.json", "/r-.json"));
  EXPECT_TRUE(matches("/*a*b", "/xaabxb"));
  EXPECT_FALSE(matches("/*a*b", "/abab/"));
}

TEST(PathPattern, CrossesSegmentsWithTwo) {
  for (auto path : {"/a/", "/a/b", "/a/b/c", "/a/b/"}) EXPECT_TRUE(matches("/a/**", path)) << path;
  for (auto path : {"/a", "/ab", "/", "/b/a/"}) EXPECT_FALSE(matches("/a/**", path)) << path;
  for (auto path : {"/", "/a", "/a/b"}) EXPECT_TRUE(matches("/**", path)) << path;
  for (auto path : {"/a/b", "/a/x/b", "/a/x/b/y/b"}) EXPECT_TRUE(matches("/a/**/b", path)) << path;
  for (auto path : {"/a/b/", "/a/xb", "/a", "/b"}) EXPECT_FALSE(matches("/a/**/b", path)) << path;
  EXPECT_TRUE(matches("/**/x/**/y/*", "/q/x/x/y/y/z"));
  EXPECT_FALSE(matches("/**/x/**/y/*", "/q/y/x/z"));
}

TEST(PathPattern, TakesAnEncodedByteWhole) {
  EXPECT_FALSE(matches("/a*2A", "/a%2A"));
  EXPECT_TRUE(matches("/a*2A", "/a%202A"));
  EXPECT_TRUE(matches("/a*", "/a%2A"));
}

TEST(PathPattern, CoversOnlyWhatItWouldMatch) {
  auto covers = [](auto a, auto b) { return pattern(a).covers(pattern(b)); };
  EXPECT_TRUE(covers("/**", "/a/*/b"));
  EXPECT_TRUE(covers("/a/*", "/a/b*"));
  EXPECT_TRUE(covers("/a/**", "/a/b/**"));
  EXPECT_TRUE(covers("/a/*/**", "/a/b/c"));
  EXPECT_TRUE(covers("/a/**/b", "/a/b"));
  EXPECT_FALSE(covers("/a/*", "/a/**"));
  EXPECT_FALSE(covers("/a/b*", "/a/*"));
  EXPECT_FALSE(covers("/a/b", "/a/*"));
  EXPECT_FALSE(covers("/a/**", "/a"));
  EXPECT_FALSE(covers("/a/*/**", "/a/**"));
  EXPECT_FALSE(covers("/a/**/b", "/a/**"));
}

TEST(PathPattern, RefusesWhatCouldNeverMatchOrMisleads) {
  for (auto text : {"/a**", "/**b", "/***", "/**/**", "/a/../b", "/a//b", "/%61", "/a%2fb", "/a;b", "/a%2541", "/a\\b",
                    "a", "", "/a b", "/\x01"})
    EXPECT_FALSE(PathPattern::parse(text)) << text;
  EXPECT_NE(PathPattern::parse("/%61dmin").error().detail.find("/admin"), std::string::npos);
}

TEST(PathPattern, HasMaxima) {
  std::string deep;
  for (int i = 0; i < 64; ++i) deep += "/a";
  EXPECT_TRUE(PathPattern::parse(deep));
  EXPECT_FALSE(PathPattern::parse(deep + "/a"));
  EXPECT_TRUE(PathPattern::parse("/*a*a*a*a*a*a*a*"));
  EXPECT_FALSE(PathPattern::parse("/*a*a*a*a*a*a*a*a*"));
}

}  // namespace
}  // namespace sallyport::policy
