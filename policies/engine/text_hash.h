// Hash maps from text that are searched by string_view without making a string.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sallyport::policy {

struct TextHash {
  using is_transparent = void;
  // Not noexcept: only then does libstdc++ keep the hash beside the key, and a search compares hashes rather than
  // texts.
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

template <class Value>
using TextMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

}  // namespace sallyport::policy
