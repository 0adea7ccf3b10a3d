// PathAlphabet: the characters of canonical paths, as few as a set of patterns can tell apart.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport::policy::review {

// What takes one place in a segment: a character, or an encoded byte.
struct PathUnit {
  std::string raw;     // "a", "%20"
  std::uint8_t loose;  // how denials see it: 'a', ' '; '\x04' for "%25"
};

// One letter: a unit, or the units of a character beyond ASCII.
struct PathLetter {
  std::vector<PathUnit> units;
  bool dot = false;        // "."
  bool ambiguous = false;  // ';'
  bool percent = false;    // "%25", which two hexadecimal digits make ambiguous
  bool hex = false;
};

class PathAlphabet {
 public:
  // Literal text of patterns: a segment or a part of one, without wildcards.
  void mention_exact(std::string_view text);
  void mention_loose(std::string_view text);
  // One letter for each kind; '/' is none of them.
  std::vector<PathLetter> letters() const;

 private:
  std::set<std::string> exact_;  // units that rules name
  std::array<bool, 256> loose_{};
  std::set<std::string> beyond_ascii_;  // characters as UTF-8
};

// The first unit of exact pattern text: "a" or "%20".
std::string_view first_unit(std::string_view text) noexcept;

}  // namespace sallyport::policy::review
