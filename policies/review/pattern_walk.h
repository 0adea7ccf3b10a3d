// PatternWalk: many path patterns read side by side, character by character: which of them match what was read so far.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "policies/engine/path_pattern.h"
#include "policies/review/path_alphabet.h"

namespace sallyport::policy::review {

class PatternWalk {
 public:
  // Where the patterns are in a path; sorted, without doubles. Compared as a whole.
  using Places = std::vector<std::uint32_t>;

  // Mentions the literal text of each pattern to `alphabet`.
  void add_exact(const PathPattern& pattern, PathAlphabet& alphabet) { add(pattern, true, alphabet); }
  void add_loose(const PathPattern& pattern, PathAlphabet& alphabet) { add(pattern, false, alphabet); }

  Places start() const;
  Places step(const Places& from, const PathUnit& unit) const;
  Places step_slash(const Places& from) const;
  // The numbers of the patterns that match a path which ends here, ascending, in the order they were added.
  std::vector<std::uint32_t> matching(const Places& at) const;

 private:
  struct Item {
    enum class Kind : std::uint8_t {
      kSlash,
      kExact,     // one unit, `text`
      kLoose,     // one unit, `byte`
      kStar,      // one or more units
      kDeepAny,   // any segments, also none
      kDeepSome,  // one or more segments
      kInDeep,    // inside one of the two; entered from the item before it
      kEnd,
    };
    Kind kind;
    std::uint8_t byte = 0;
    std::uint32_t pattern = 0;  // of kEnd
    std::string text = {};
  };
  void add(const PathPattern& pattern, bool exact, PathAlphabet& alphabet);
  void add_segment(std::string_view segment, bool exact, PathAlphabet& alphabet);
  void put(Places& to, std::uint32_t place) const;
  static Places settled(Places places);

  std::vector<Item> items_;  // of all patterns, one after the other
  std::vector<std::uint32_t> first_;
};

}  // namespace sallyport::policy::review
