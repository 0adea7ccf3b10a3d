// path_classes: one path of each kind that a set of path patterns tells apart.
//
// Two canonical paths are of one kind when the same patterns match both and both or neither are ambiguous(). A decision
// sees nothing else of a path, so what holds for one path of each kind holds for every path.
//
// How: the patterns run side by side as one automaton over the characters of a path (a breadth-first walk over its
// reachable states, so the paths found are among the shortest). Characters that no pattern mentions are one letter of
// the alphabet.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "policies/engine/path_pattern.h"

namespace sallyport::policy::review {

struct PathClasses {
  std::vector<std::string> paths;  // canonical; "/" or another short one first
  // False: the patterns are too many or too entangled for `max_work`, and kinds are missing.
  bool complete = true;
};

inline constexpr std::size_t kPathWork = 30'000'000;  // steps of one pattern by one character; about a second

// `exact` are matched as allow rules are, `loose` (PathPattern::for_denial) as denials are. Borrowed for the call.
PathClasses path_classes(std::span<const PathPattern* const> exact, std::span<const PathPattern* const> loose,
                         std::size_t max_work = kPathWork);

}  // namespace sallyport::policy::review
