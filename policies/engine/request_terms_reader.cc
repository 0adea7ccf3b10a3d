#include "policies/engine/request_terms_reader.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "core/base/escape.h"
#include "policies/engine/key_table.h"
#include "policies/engine/language_keys.h"
#include "policies/engine/media_type.h"
#include "policies/engine/percent.h"
#include "policies/engine/quantity.h"

namespace sallyport::policy {
namespace {

using Text = std::string_view;

constexpr std::array kKeys{Text("one_of"), Text("regex"), Text("length"), Text("optional")};
constexpr std::array kHints{
    KeyHint{"enum", "a list of values is one_of", "one_of: [EUR, USD]"},
    KeyHint{"values", "a list of values is one_of", "one_of: [EUR, USD]"},
    KeyHint{"in", "a list of values is one_of", "one_of: [EUR, USD]"},
    KeyHint{"equals", "an exact value stands after the key itself", "project: '42'"},
    KeyHint{"pattern", "a regular expression is called regex", "regex: '[0-9]{1,4}'"},
    KeyHint{"matches", "a regular expression is called regex", "regex: '[0-9]{1,4}'"},
    KeyHint{"max", "the greatest length of a value is length", "length: 100"},
    KeyHint{"max_length", "the greatest length of a value is length", "length: 100"},
    KeyHint{"any", "anything is allowed by its length", "length: 100"},
    KeyHint{"required", "a key is required unless it is optional", "optional: true, or nothing"},
    KeyHint{"repeat", "a key stands at most once in a query", "the key without it"}};
constexpr KeyTable kValue{"a query key", kKeys, {}, kHints};
constexpr Text kExample = "page: {regex: '[0-9]{1,4}'}";

constexpr std::size_t kLongestName = 256;
constexpr std::size_t kMostValues = 1000;

// What a decoded query can hold at all.
bool is_possible(Text text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool is_encoded(Text text) {
  for (auto at = text.find('%'); at != Text::npos; at = text.find('%', at + 1))
    if (encoded_byte(text, at) >= 0) return true;
  return false;
}

class KeyReading {
 public:
  KeyReading(const YamlEntry& entry, Reporter& reporter) : entry_(entry), reporter_(reporter) { key_.name = entry.key; }

  std::optional<QueryKey> read() {
    bool named = check_name();
    if (!value() || !named) return std::nullopt;
    return std::move(key_);
  }

 private:
  bool refuse(Position at, std::string message, Text read, std::string advice) {
    reporter_.error(at, std::move(message), read, std::move(advice));
    return false;
  }

  bool check_name() {
    if (key_.name.empty() || key_.name.size() > kLongestName || !is_possible(key_.name))
      return refuse(entry_.at, "a query key is 1 to 256 printable characters", key_.name, std::string(kExample));
    if (is_encoded(key_.name))
      return refuse(entry_.at, "a query key is written decoded: it is compared after decoding", key_.name,
                    escape_text(percent_decoded(key_.name), 80) + ":");
    if (key_.name == "*" || key_.name == "**")
      return refuse(entry_.at, "query: lists every key that may stand there", key_.name,
                    "the keys that are needed, or the rule without query:");
    return true;
  }

  bool value() {
    const YamlNode& node = entry_.value;
    if (node.is_list())
      return refuse(node.at, "several values of a query key are one_of", listed(node),
                    escape_text(key_.name, 80) + ": {one_of: " + listed(node) + "}");
    return node.is_map() ? map(node) : exact(node, key_.values);
  }

  static std::string listed(const YamlNode& node) {
    std::string out;
    for (const YamlNode& item : node.items)
      if (out.size() < 60) out += (out.empty() ? "[" : ", ") + escape_text(item.text, 20);
    return out.empty() ? "[]" : out + "]";
  }

  // A value as it reads once it is decoded.
  bool exact(const YamlNode& node, std::vector<std::string>& out) {
    if (!node.is_scalar() || node.is_empty())
      return refuse(node.at, "a query value is text, not " + std::string(kind_text(node)), {},
                    "the value, '' for an empty one, or {length: 100} for any");
    if (node.plain && (node.text == "*" || node.text == "any"))
      return refuse(node.at, "any value is written by its greatest length", node.text, "{length: 100}");
    if (is_encoded(node.text))
      return refuse(node.at, "a query value is written decoded: it is compared after decoding", node.text,
                    escape_text(percent_decoded(node.text), 80));
    if (!is_possible(node.text)) return refuse(node.at, "a query value has a control character", node.text, "the value without it");
    out.push_back(node.text);
    return true;
  }

  bool map(const YamlNode& node) {
    bool fine = true;
    const YamlEntry* kind = nullptr;
    for (const YamlEntry& entry : node.entries) {
      if (!check_key(kValue, entry, reporter_)) {
        fine = false;
      } else if (entry.key == "optional") {
        fine = optional(entry.value) && fine;
      } else if (kind != nullptr) {
        fine = refuse(entry.at, "a query key has one of one_of:, regex: and length:", entry.key, kind->key + ": alone");
      } else {
        kind = &entry;
      }
    }
    if (kind == nullptr)
      return fine && refuse(node.at, "a query key needs one_of:, regex: or length:", {}, std::string(kExample));
    return of_kind(*kind) && fine;
  }

  bool optional(const YamlNode& node) {
    if (node.is_scalar() && node.text == "true") {
      key_.optional = true;
      return true;
    }
    return refuse(node.at, "optional is true, or not there", node.text, "optional: true, or the key without it");
  }

  bool of_kind(const YamlEntry& entry) {
    if (entry.key == "one_of") return one_of(entry.value);
    if (entry.key == "regex") return regex(entry.value);
    key_.kind = QueryKey::Kind::kLength;
    auto length = read_count(entry.value, "length", reporter_);
    if (length) key_.length = static_cast<std::size_t>(*length);
    return length.has_value();
  }

  bool one_of(const YamlNode& node) {
    if (!node.is_list() || node.items.empty())
      return refuse(node.at, "one_of holds a list of values", node.text, "one_of: [EUR, USD]");
    if (node.items.size() > kMostValues) return refuse(node.at, "one_of has more than 1000 values", {}, "fewer, or a regex:");
    for (const YamlNode& item : node.items) {
      if (!exact(item, key_.values)) return false;
      if (std::count(key_.values.begin(), key_.values.end(), item.text) > 1)
        return refuse(item.at, "the value " + quoted(item.text) + " stands twice", item.text, "it once");
    }
    return true;
  }

  bool regex(const YamlNode& node) {
    if (!node.is_scalar() || node.text.empty())
      return refuse(node.at, "regex needs a regular expression", node.text, "regex: '[0-9]{1,4}'");
    Text text = node.text;
    if (text.size() > QueryPattern::kMaxRegexBytes)
      return refuse(node.at, "a regular expression is longer than 1000 bytes", text, "a shorter one");
    if (text.size() > 1 && text.starts_with('/') && text.ends_with('/'))
      return refuse(node.at, "slashes around a regular expression would be part of it", text,
                    "regex: '" + escape_text(text.substr(1, text.size() - 2), 80) + "'");
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(1 << 20);
    auto compiled = std::make_shared<RE2>(re2::StringPiece(text.data(), text.size()), options);
    if (!compiled->ok())
      return refuse(node.at, "this is no regular expression of RE2: " + escape_text(compiled->error(), 120), text,
                    "one in RE2 syntax, which has no look-around and no back-references");
    key_.kind = QueryKey::Kind::kRegex;
    key_.regex = node.text;
    key_.compiled = std::move(compiled);
    return true;
  }

  const YamlEntry& entry_;
  Reporter& reporter_;
  QueryKey key_;
};

bool is_lower(Text text) {
  return std::ranges::none_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
}

bool read_content_type(const YamlNode& node, std::vector<std::string>& out, Reporter& reporter) {
  auto refuse = [&](std::string message, std::string advice) {
    reporter.error(node.at, std::move(message), node.text, std::move(advice));
    return false;
  };
  if (!node.is_scalar() || node.is_empty())
    return refuse("a content type is text, not " + std::string(kind_text(node)), "content_type: application/json");
  auto type = media_type_of(node.text);
  if (node.text == "json") return refuse("a content type has two parts", "application/json");
  if (!type) return refuse("this is no media type", "content_type: application/json");
  if (node.text.find(';') != Text::npos)
    return refuse("a content type is compared without its parameters", *type);
  if (type->find('*') != std::string::npos)
    return refuse("a content type has no wildcards", "each type that is needed, or the rule without content_type:");
  if (!is_lower(node.text) || *type != node.text) return refuse("a content type is written in lower case, without spaces", *type);
  if (std::ranges::find(out, *type) != out.end()) return refuse("the type " + quoted(*type) + " stands twice", "it once");
  out.push_back(*std::move(type));
  return true;
}

}  // namespace

KeyTable query_value_keys() noexcept { return kValue; }

std::optional<QueryPattern> read_query(const YamlNode& node, Reporter& reporter) {
  auto refuse = [&](std::string message, Text read, std::string advice) {
    reporter.error(node.at, std::move(message), read, std::move(advice));
    return std::nullopt;
  };
  if (node.is_scalar() && node.text == "none") return QueryPattern();
  if (node.is_scalar() && (node.text == "any" || node.text == "*"))
    return refuse("any query is allowed by leaving query: out", node.text, "the rule without query:");
  if (!node.is_map() || node.entries.empty())
    return refuse("query holds its keys and what each may be, or none", node.text,
                  "query: {currency: {one_of: [EUR, USD]}}, or query: none");
  if (node.entries.size() > QueryPattern::kMaxKeys) return refuse("query has more than 32 keys", {}, "fewer");
  std::vector<QueryKey> keys;
  bool fine = true;
  for (const YamlEntry& entry : node.entries) {
    auto key = KeyReading(entry, reporter).read();
    fine &= key.has_value();
    if (key) keys.push_back(*std::move(key));
  }
  if (!fine) return std::nullopt;
  return QueryPattern(std::move(keys));
}

std::optional<std::vector<std::string>> read_content_types(const YamlNode& node, Reporter& reporter) {
  std::vector<std::string> types;
  bool fine = true;
  if (node.is_list() && !node.items.empty()) {
    for (const YamlNode& item : node.items) fine &= read_content_type(item, types, reporter);
  } else if (node.is_list() || node.is_map()) {
    reporter.error(node.at, "content_type holds a media type or a list of them", {}, "content_type: application/json");
    fine = false;
  } else {
    fine = read_content_type(node, types, reporter);
  }
  if (!fine) return std::nullopt;
  std::ranges::sort(types);
  return types;
}

}  // namespace sallyport::policy
