#include "policies/engine/yaml_tree.h"

#include <yaml.h>

#include <algorithm>
#include <unordered_set>

#include "policies/engine/load.h"
#include "policies/engine/yaml_faults.h"

namespace sallyport::policy {
namespace {

Position position(const yaml_mark_t& mark) {
  return {static_cast<std::uint32_t>(mark.line) + 1, static_cast<std::uint32_t>(mark.column) + 1};
}

// libyaml's event interface, owning parser and current event.
class Events {
 public:
  Events(std::string_view text, Reporter& reporter) : text_(text), reporter_(reporter) {
    usable_ = yaml_parser_initialize(&parser_) != 0;
    if (!usable_) return;
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~Events() {
    drop();
    if (usable_) yaml_parser_delete(&parser_);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  // The next event, or null after a fault, which is then reported.
  const yaml_event_t* next() {
    drop();
    if (!usable_) return nullptr;
    if (yaml_parser_parse(&parser_, &event_) == 0) {
      report_yaml_fault(text_, parser_.problem, parser_.context, position(parser_.problem_mark),
                        position(parser_.context_mark), reporter_);
      usable_ = false;
      yaml_parser_delete(&parser_);
      return nullptr;
    }
    held_ = true;
    return &event_;
  }

 private:
  void drop() {
    if (held_) yaml_event_delete(&event_);
    held_ = false;
  }

  std::string_view text_;
  Reporter& reporter_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
  bool usable_ = false;
  bool held_ = false;
};

std::string_view text_of(const yaml_event_t& event) {
  return {reinterpret_cast<const char*>(event.data.scalar.value), event.data.scalar.length};
}

struct Decorations {
  const unsigned char* anchor = nullptr;
  const unsigned char* tag = nullptr;
};

Decorations decorations(const yaml_event_t& event) {
  switch (event.type) {
    case YAML_SCALAR_EVENT:
      return {event.data.scalar.anchor, event.data.scalar.tag};
    case YAML_MAPPING_START_EVENT:
      return {event.data.mapping_start.anchor, event.data.mapping_start.tag};
    case YAML_SEQUENCE_START_EVENT:
      return {event.data.sequence_start.anchor, event.data.sequence_start.tag};
    case YAML_ALIAS_EVENT:
      return {event.data.alias.anchor, nullptr};
    default:
      return {};
  }
}

// Whether the last key of a map stands there before; by hash once there are many.
class SeenKeys {
 public:
  bool again(const std::vector<YamlEntry>& entries) {
    const std::string& key = entries.back().key;
    if (entries.size() <= kFew)
      return std::any_of(entries.begin(), entries.end() - 1, [&](const YamlEntry& e) { return e.key == key; });
    if (seen_.empty())
      for (auto entry = entries.begin(); entry != entries.end() - 1; ++entry) seen_.insert(entry->key);
    return !seen_.insert(key).second;
  }

 private:
  static constexpr std::size_t kFew = 16;
  std::unordered_set<std::string> seen_;
};

class Reader {
 public:
  Reader(std::string_view text, Reporter& reporter) : events_(text, reporter), reporter_(reporter) {}
  void hand_out(std::string_view key, const TakeItem& take) {
    handed_key_ = key;
    take_ = &take;
  }

  std::optional<YamlNode> document() {
    const yaml_event_t* event = events_.next();  // the stream's start
    if (event != nullptr) event = events_.next();
    if (event == nullptr) return std::nullopt;
    if (event->type == YAML_STREAM_END_EVENT) return nothing();
    if (event->data.document_start.version_directive != nullptr ||
        event->data.document_start.tag_directives.start != event->data.document_start.tag_directives.end)
      return failed(position(event->start_mark), "a YAML directive: a policy has none",
                    "the file without the line that begins with %");
    event = events_.next();
    if (event == nullptr) return std::nullopt;
    YamlNode root;
    if (!node(*event, root, 1)) return std::nullopt;
    return only(std::move(root));
  }

 private:
  std::optional<YamlNode> nothing() { return failed({}, "the file is empty", "at least policy: NAME/1 and rules:"); }

  std::optional<YamlNode> failed(Position at, std::string message, std::string advice) {
    reporter_.error(at, std::move(message), {}, std::move(advice));
    return std::nullopt;
  }

  // Nothing may follow the first document.
  std::optional<YamlNode> only(YamlNode root) {
    const yaml_event_t* event = events_.next();  // the document's end
    if (event != nullptr) event = events_.next();
    if (event == nullptr) return std::nullopt;
    if (event->type == YAML_STREAM_END_EVENT) return root;
    return failed(position(event->start_mark), "a second document in one file",
                  "one policy a file, without a second ---");
  }

  bool refuse(Position at, std::string message, std::string_view read, std::string advice) {
    reporter_.error(at, std::move(message), read, std::move(advice));
    return false;
  }

  bool plain_form(const yaml_event_t& event) {
    auto [anchor, tag] = decorations(event);
    Position at = position(event.start_mark);
    auto name = [](const unsigned char* text) { return std::string(reinterpret_cast<const char*>(text)); };
    if (event.type == YAML_ALIAS_EVENT)
      return refuse(at, "an alias: * at the beginning of a value refers to an anchor, and a policy has none",
                    "*" + name(anchor), "the value itself, in quotes if it begins with *");
    if (anchor != nullptr)
      return refuse(at, "an anchor: a policy has none, every value stands where it is used", "&" + name(anchor),
                    "the value without it, in quotes if it begins with &");
    if (tag != nullptr)
      return refuse(at, "a tag: every value is text that its key gives a meaning", name(tag),
                    "the value without it, in quotes if it begins with !");
    return true;
  }

  bool node(const yaml_event_t& event, YamlNode& out, std::size_t depth) {
    if (!plain_form(event)) return false;
    out.at = position(event.start_mark);
    if (event.type == YAML_SCALAR_EVENT) {
      out.text = text_of(event);
      out.plain = event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
      return true;
    }
    if (depth > kMaxPolicyDepth)
      return refuse(out.at, "maps and lists are nested more than 8 deep", {},
                    "a flatter file: a policy needs five levels at most");
    if (event.type == YAML_MAPPING_START_EVENT) {
      out.kind = YamlNode::Kind::kMap;
      out.flow = event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
      return entries(out, depth);
    }
    out.kind = YamlNode::Kind::kList;
    out.flow = event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
    return items(out, depth);
  }

  bool items(YamlNode& out, std::size_t depth) {
    for (;;) {
      const yaml_event_t* event = events_.next();
      if (event == nullptr) return false;
      if (event->type == YAML_SEQUENCE_END_EVENT) return true;
      if (!node(*event, out.items.emplace_back(), depth + 1)) return false;
    }
  }

  bool entries(YamlNode& out, std::size_t depth) {
    SeenKeys seen;
    for (;;) {
      const yaml_event_t* event = events_.next();
      if (event == nullptr) return false;
      if (event->type == YAML_MAPPING_END_EVENT) return true;
      if (!plain_form(*event)) return false;
      Position at = position(event->start_mark);
      if (event->type != YAML_SCALAR_EVENT) return refuse(at, "a key is one word, not a map or list", {}, "key: value");
      YamlEntry& entry = out.entries.emplace_back();
      entry.key = text_of(*event);
      entry.at = at;
      if (entry.key == "<<")
        return refuse(at, "a merge key: a policy has none, every key stands where it counts", "<<",
                      "the keys themselves");
      if (seen.again(out.entries)) report_twice(out, entry);
      event = events_.next();
      if (event == nullptr) return false;
      bool handed = take_ != nullptr && depth == 1 && entry.key == handed_key_ && event->type == YAML_SEQUENCE_START_EVENT;
      if (handed ? !handed_items(*event, entry.value) : !node(*event, entry.value, depth + 1)) return false;
    }
  }

  bool handed_items(const yaml_event_t& event, YamlNode& out) {
    if (!plain_form(event)) return false;
    out.at = position(event.start_mark);
    out.kind = YamlNode::Kind::kList;
    out.flow = event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
    for (;;) {
      const yaml_event_t* next = events_.next();
      if (next == nullptr) return false;
      if (next->type == YAML_SEQUENCE_END_EVENT) return true;
      YamlNode item;
      if (!node(*next, item, 3)) return false;
      (*take_)(item);
    }
  }

  void report_twice(const YamlNode& map, const YamlEntry& entry) {
    std::uint32_t first = 0;
    for (const YamlEntry& earlier : map.entries)
      if (first == 0 && earlier.key == entry.key) first = earlier.at.line;
    // {requests: 1,000,000}
    bool comma = map.flow && !entry.key.empty() && entry.key.front() >= '0' && entry.key.front() <= '9';
    reporter_.error(entry.at, "the key " + quoted(entry.key) + " stands twice, first in line " + std::to_string(first),
                    entry.key, comma ? "it once; a number has plain digits: 1000, not 1,000" : "it once");
  }

  Events events_;
  Reporter& reporter_;
  std::string_view handed_key_;
  const TakeItem* take_ = nullptr;
};

}  // namespace

std::optional<YamlNode> read_yaml(std::string_view text, Reporter& reporter) {
  auto root = Reader(text, reporter).document();
  if (reporter.failed()) return std::nullopt;
  return root;
}

std::optional<YamlNode> read_yaml(std::string_view text, Reporter& reporter, std::string_view key, const TakeItem& take) {
  Reader reader(text, reporter);
  reader.hand_out(key, take);
  auto root = reader.document();
  if (reporter.failed()) return std::nullopt;
  return root;
}

std::string_view kind_text(const YamlNode& node) noexcept {
  switch (node.kind) {
    case YamlNode::Kind::kMap:
      return "a map";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kScalar:
      return node.is_empty() ? "nothing" : "text";
  }
  return "text";
}

}  // namespace sallyport::policy
