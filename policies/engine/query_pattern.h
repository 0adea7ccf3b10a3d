// QueryPattern: what `query:` of a rule says of the part of a request target after '?'.
//
// Only the keys that are named may stand there, each at most once, in any order; a key that is not optional must. Keys and
// values are compared after one percent-decoding. Servers do not agree on what a query means, so what they read in different
// ways matches nothing here: ';', empty pairs, encoded control bytes, bytes that are not UTF-8, "%25" before two more
// hexadecimal digits. '+' stands for itself or for a space, and a value has to match as both.
// Input is hostile. Sources: WHATWG URL "application/x-www-form-urlencoded", RFC 3986 section 3.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace sallyport::policy {

struct QueryKey {
  enum class Kind : std::uint8_t {
    kOneOf,   // one of `values`, byte for byte; an exact text is a list of one
    kRegex,   // the whole value matches `regex`
    kLength,  // anything of at most `length` bytes
  };
  std::string name;
  bool optional = false;
  Kind kind = Kind::kOneOf;
  std::vector<std::string> values;
  std::string regex;  // as written; RE2 syntax
  std::size_t length = 0;
  std::shared_ptr<const re2::RE2> compiled;  // of kRegex; owned by the copies of this key

  bool accepts(std::string_view value) const;
  // True only if every value that `other` accepts is accepted here. Sound, not complete: regular expressions are compared as
  // texts.
  bool covers(const QueryKey& other) const;
};

class QueryPattern {
 public:
  static constexpr std::size_t kMaxKeys = 32;
  static constexpr std::size_t kMaxRegexBytes = 1000;

  QueryPattern() = default;  // `query: none`
  explicit QueryPattern(std::vector<QueryKey> keys) : keys_(std::move(keys)) {}

  // `query` is without '?'.
  bool matches(std::string_view query) const;
  // True only if every query that matches `other` matches this; sound, not complete.
  bool covers(const QueryPattern& other) const;
  // In the order of the file; empty: no query at all.
  const std::vector<QueryKey>& keys() const noexcept { return keys_; }

 private:
  std::vector<QueryKey> keys_;
};

}  // namespace sallyport::policy
