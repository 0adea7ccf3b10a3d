// The comments of a YAML text that was read, with where they stood.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policies/engine/yaml_tree.h"

namespace sallyport::policy::edit {

struct Comment {
  Position at;           // of the '#'
  bool own_line = true;  // nothing but spaces before it
  std::string text;      // from the '#', without spaces at the end
};

struct Comments {
  std::vector<Comment> all;                // in the order of the file
  std::vector<std::uint32_t> blank_lines;  // lines with nothing on them, ascending
};

// `root` is what read_yaml made of `text`. A '#' inside a quoted value is none.
Comments comments_of(std::string_view text, const YamlNode& root);

constexpr bool before(Position a, Position b) noexcept {
  return a.line != b.line ? a.line < b.line : a.column < b.column;
}

}  // namespace sallyport::policy::edit
