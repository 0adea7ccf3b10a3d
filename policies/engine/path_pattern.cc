#include "policies/engine/path_pattern.h"

#include <algorithm>

#include "core/base/escape.h"
#include "policies/engine/path.h"
#include "policies/engine/percent.h"

namespace sallyport::policy {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// One character of a token: an encoded byte counts as one.
std::size_t unit(std::string_view token, std::size_t at) noexcept { return token[at] == '%' ? 3 : 1; }

auto invalid(std::string sentence) { return fail(ErrorKind::kInvalid, std::move(sentence)); }

Result<std::string> read_segment(std::string_view segment) {
  if (segment == "**") return std::string(PathPattern::kDeep);
  if (segment.find("**") != std::string_view::npos)
    return invalid("'**' is a whole segment: write /a/** rather than /a**");
  std::string out(segment);
  std::ranges::replace(out, '*', PathPattern::kStar);
  return out;
}

Result<void> check_canonical(std::string_view text) {
  auto canonical = CanonicalPath::parse(text);
  if (!canonical) return fail(canonical.error());
  if (canonical.value().text() != text)
    return invalid("the path is not in its canonical form: write " + escape_text(canonical.value().text()));
  if (canonical.value().ambiguous())
    return invalid(
        "a path with ';' or '%25' and two more digits is read in different ways by servers, and never matches");
  return success();
}

}  // namespace

Result<PathPattern> PathPattern::parse(std::string_view text) {
  BOOST_OUTCOME_TRY(check_canonical(text));
  if (static_cast<std::size_t>(std::ranges::count(text, '/')) > kMaxSegments)
    return invalid("the path has more than 64 segments: write a shorter one that ends in /**");
  if (static_cast<std::size_t>(std::ranges::count(text, '*')) > kMaxWildcards)
    return invalid("the path has more than 8 stars: write fewer, or '**'");
  std::vector<std::string> segments;
  PathTokens raw;
  split_path(text, raw);
  for (auto segment : raw) {
    BOOST_OUTCOME_TRY(auto read, read_segment(segment));
    if (read == kDeep && !segments.empty() && segments.back() == kDeep)
      return invalid("'**' after '**' adds nothing: write '**' once");
    segments.push_back(std::move(read));
  }
  return PathPattern(std::move(segments));
}

bool segment_matches(std::string_view pattern, std::string_view token) noexcept {
  if (token == PathPattern::kDeep) return false;
  std::size_t p = 0, t = 0, after_star = kNone, consumed = 0;
  while (t < token.size()) {
    if (p < pattern.size() && pattern[p] == PathPattern::kStar) {
      t += unit(token, t);
      after_star = ++p;
      consumed = t;
    } else if (p < pattern.size() && pattern[p] == token[t]) {
      ++p;
      ++t;
    } else if (after_star != kNone && consumed < token.size()) {
      consumed += unit(token, consumed);
      t = consumed;
      p = after_star;
    } else {
      return false;
    }
  }
  return p == pattern.size();
}

bool has_wildcard(std::string_view segment) noexcept {
  return segment == PathPattern::kDeep || segment.find(PathPattern::kStar) != std::string_view::npos;
}

bool PathPattern::matches_from(std::size_t from, std::span<const std::string_view> tokens) const noexcept {
  std::size_t p = from, t = 0, after_deep = kNone, consumed = 0;
  auto ends_in = [&](std::string_view deep) { return p + 1 == segments_.size() && segments_[p] == deep; };
  while (t < tokens.size()) {
    if (ends_in(kDeep) || ends_in(kDeepOrNone)) return true;
    if (p < segments_.size() && segments_[p] == kDeep) {
      after_deep = ++p;
      consumed = t;
    } else if (p < segments_.size() && segment_matches(segments_[p], tokens[t])) {
      ++p;
      ++t;
    } else if (after_deep != kNone) {
      t = ++consumed;
      p = after_deep;
    } else {
      return false;
    }
  }
  return p == segments_.size() || ends_in(kDeepOrNone);
}

bool PathPattern::covers(const PathPattern& other) const { return matches(other.tokens()); }

namespace {

// Whether two sequences with wildcards for "any number of elements" can be the same. `wild` and `meet` are asked about
// positions.
template <class WildA, class WildB, class Meet>
bool sequences_meet(std::size_t a_size, std::size_t b_size, WildA wild_a, WildB wild_b, Meet meet) {
  // Row i, column j: the ends from i and from j can be the same.
  std::vector<char> below(b_size + 1), row(b_size + 1);
  for (std::size_t i = a_size + 1; i-- > 0;) {
    for (std::size_t j = b_size + 1; j-- > 0;) {
      bool more_a = i < a_size, more_b = j < b_size, can = !more_a && !more_b;
      if (more_a && wild_a(i)) can = can || below[j] != 0 || (more_b && row[j + 1] != 0);
      if (more_b && wild_b(j)) can = can || row[j + 1] != 0 || (more_a && below[j] != 0);
      if (!can && more_a && more_b && !wild_a(i) && !wild_b(j)) can = below[j + 1] != 0 && meet(i, j);
      row[j] = can ? 1 : 0;
    }
    std::swap(row, below);
  }
  return below[0] != 0;
}

bool segments_meet(std::string_view a, std::string_view b) {
  if (!has_wildcard(a) && !has_wildcard(b)) return a == b;
  return sequences_meet(
      a.size(), b.size(), [&](std::size_t i) { return a[i] == PathPattern::kStar; },
      [&](std::size_t j) { return b[j] == PathPattern::kStar; }, [&](std::size_t i, std::size_t j) { return a[i] == b[j]; });
}

bool is_deep(const std::string& segment) { return segment == PathPattern::kDeep || segment == PathPattern::kDeepOrNone; }

}  // namespace

bool PathPattern::meets(const PathPattern& other) const {
  const auto &a = segments_, &b = other.segments_;
  return sequences_meet(
      a.size(), b.size(), [&](std::size_t i) { return is_deep(a[i]); }, [&](std::size_t j) { return is_deep(b[j]); },
      [&](std::size_t i, std::size_t j) { return segments_meet(a[i], b[j]); });
}

PathPattern PathPattern::loosened() const {
  std::vector<std::string> segments;
  segments.reserve(segments_.size());
  for (const std::string& segment : segments_) segments.push_back(policy::loosened(segment));
  return PathPattern(std::move(segments));
}

PathPattern PathPattern::for_denial() const {
  PathPattern out = loosened();
  if (!is_everything() && out.segments_.back() == kDeep) out.segments_.back() = kDeepOrNone;
  return out;
}

void split_path(std::string_view path, PathTokens& out) {
  path.remove_prefix(1);
  for (;;) {
    auto slash = path.find('/');
    out.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return;
    path.remove_prefix(slash + 1);
  }
}

std::string loosened(std::string_view path) {
  std::string out = percent_decoded(path);
  std::ranges::replace(out, '%', '\x04');
  return out;
}

}  // namespace sallyport::policy
