// PathPattern: what a rule says about paths. '*' stands for one or more characters of one segment, a segment '**' for
// any segments (at the end for one or more of them, the last of which may be empty: "/a/**" matches "/a/" and "/a/b",
// not "/a").
//
// Works on tokens, the segments of a path: those of a CanonicalPath, or those of another pattern, which is how covers()
// is answered. A token is never decoded further here. An encoded byte ("%2A") is one character.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace sallyport::policy {

using PathTokens = std::vector<std::string_view>;

class PathPattern {
 public:
  static constexpr std::size_t kMaxSegments = 64;
  static constexpr std::size_t kMaxWildcards = 8;
  // How wildcards stand in tokens; no canonical path holds these bytes.
  static constexpr char kStar = '\x01';
  static constexpr std::string_view kDeep = "\x02";
  static constexpr std::string_view kDeepOrNone = "\x03";  // a last "**" of a denial

  // `text` begins with '/'. kInvalid with one sentence that says what is wrong and what to write.
  static Result<PathPattern> parse(std::string_view text);

  // `tokens` are the segments of a whole path.
  bool matches(std::span<const std::string_view> tokens) const noexcept { return matches_from(0, tokens); }
  // The same for the part of the pattern from segment `from`, and the tokens from there.
  bool matches_from(std::size_t from, std::span<const std::string_view> tokens) const noexcept;
  // True only if every path that matches `other` matches this. Sound; it may miss a cover that needs several stars at
  // once.
  bool covers(const PathPattern& other) const;

  // False only if no path matches both. It may say true where none does.
  bool meets(const PathPattern& other) const;

  // "/**"
  bool is_everything() const noexcept { return segments_.size() == 1 && segments_[0] == kDeep; }
  std::span<const std::string> segments() const noexcept { return segments_; }
  PathTokens tokens() const { return {segments_.begin(), segments_.end()}; }

  // With every encoded byte decoded, since many servers do so: the form in which paths meet denials.
  PathPattern loosened() const;
  // The loosened form of a denial: here "/a/**" also matches "/a", which many servers take for "/a/".
  PathPattern for_denial() const;

 private:
  explicit PathPattern(std::vector<std::string> segments) : segments_(std::move(segments)) {}
  std::vector<std::string> segments_;
};

// True if one pattern segment matches one token.
bool segment_matches(std::string_view pattern, std::string_view token) noexcept;
bool has_wildcard(std::string_view segment) noexcept;

// Appends the segments of a canonical path to `out`; they borrow from `path`.
void split_path(std::string_view path, PathTokens& out);
// A canonical path with every encoded byte decoded ('%' itself as '\x04', so that no '%' is left). '/' never comes of
// it.
std::string loosened(std::string_view path);

}  // namespace sallyport::policy
