// YamlNode: a policy file as a tree of strings that know where they stood. No types, no anchors, no tags, one document.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/engine/reporter.h"

namespace sallyport::policy {

struct YamlEntry;

struct YamlNode {
  enum class Kind : std::uint8_t { kScalar, kMap, kList };
  Kind kind = Kind::kScalar;
  bool plain = true;  // of a scalar: written without quotes
  bool flow = false;  // of a map or list: written with braces or brackets
  Position at;
  std::string text;  // of a scalar
  std::vector<YamlNode> items;
  std::vector<YamlEntry> entries;

  bool is_scalar() const noexcept { return kind == Kind::kScalar; }
  bool is_map() const noexcept { return kind == Kind::kMap; }
  bool is_list() const noexcept { return kind == Kind::kList; }
  // `key:` with nothing after it.
  bool is_empty() const noexcept { return is_scalar() && plain && text.empty(); }
};

struct YamlEntry {
  std::string key;
  Position at;
  YamlNode value;
};

// Reads a text that check_text has passed. Nothing when anything was reported, or when there is no content at all,
// which is reported too.
std::optional<YamlNode> read_yaml(std::string_view text, Reporter& reporter);

// The same for a map at whose key `key` a long list may stand: each of its items goes to `take` as soon as it is read, and the list
// stays empty. When nothing comes of it in the end, what was made of the items is to be forgotten.
using TakeItem = std::function<void(const YamlNode& item)>;
std::optional<YamlNode> read_yaml(std::string_view text, Reporter& reporter, std::string_view key, const TakeItem& take);

// "a list", "a map", "text": for messages.
std::string_view kind_text(const YamlNode& node) noexcept;

}  // namespace sallyport::policy
