// KeyTable: the keys of one kind of map: those that are read, those that are understood but not supported yet, and
// words that newcomers type instead. Everything else is unknown, and unknown is an error.
#pragma once

#include <span>
#include <string_view>

#include "policies/engine/yaml_tree.h"

namespace sallyport::policy {

struct KeyHint {
  std::string_view key;
  std::string_view sentence;  // what is wrong with it here
  std::string_view advice;
};

struct KeyTable {
  std::string_view where;  // "a rule"
  std::span<const std::string_view> read;
  std::span<const std::string_view> not_yet;
  std::span<const KeyHint> hints = {};
};

// True if the key is to be read by the caller; everything else is reported.
bool check_key(const KeyTable& table, const YamlEntry& entry, Reporter& reporter);

// True if `node` is a map; reports what it is otherwise. `name` is its key.
bool require_map(const YamlNode& node, std::string_view name, std::string_view advice, Reporter& reporter);

}  // namespace sallyport::policy
