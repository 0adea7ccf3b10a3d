#include "policies/edit/layout.h"

#include <algorithm>

#include "policies/edit/scalar_text.h"

namespace sallyport::policy::edit {
namespace {

constexpr std::size_t kWidth = 120;  // of a line that holds a whole map or list
constexpr std::string_view kAlwaysBlock[] = {"rules", "use", "tests", "budgets"};

Position last_start(const YamlNode& node) {
  if (!node.items.empty()) return last_start(node.items.back());
  if (!node.entries.empty()) return last_start(node.entries.back().value);
  return node.at;
}

class Layout {
 public:
  explicit Layout(const Comments& comments) : comments_(comments) {}

  std::string run(const YamlNode& root) {
    for (const YamlEntry& entry : root.entries) {
      lead(entry.at, 0);
      this->entry(entry, 0, true);
    }
    rest();
    return std::move(out_);
  }

 private:
  // Comments on lines of their own and a blank line that stand before a place.
  void lead(Position at, std::size_t indent) {
    while (next_ < comments_.all.size() && before(comments_.all[next_].at, at)) {
      const Comment& comment = comments_.all[next_++];
      blank(comment.at.line);
      line(indent, comment.text);
    }
    blank(at.line);
  }

  void rest() {
    for (; next_ < comments_.all.size(); ++next_) {
      blank(comments_.all[next_].at.line);
      line(0, comments_.all[next_].text);
    }
  }

  // One blank line if there were any since the last thing that was written.
  void blank(std::uint32_t until) {
    bool any = false;
    while (blank_ < comments_.blank_lines.size() && comments_.blank_lines[blank_] < until) any = true, ++blank_;
    if (any && !out_.empty() && !out_.ends_with("\n\n")) out_ += '\n';
  }

  void line(std::size_t indent, std::string_view text) {
    out_.append(indent, ' ');
    out_ += text;
    out_ += '\n';
  }

  // Ends a line, with the comment that stood behind it.
  void end_line() {
    if (next_ < comments_.all.size() && !comments_.all[next_].own_line &&
        comments_.all[next_].at.line <= current_.line) {
      out_ += "  " + comments_.all[next_++].text;
    }
    out_ += '\n';
  }

  bool has_comment_inside(const YamlNode& node) const {
    auto last = last_start(node);
    return std::ranges::any_of(comments_.all,
                               [&](const Comment& c) { return before(node.at, c.at) && before(c.at, last); });
  }

  static std::string flow(const YamlNode& node) {
    if (node.is_scalar()) return node.is_empty() ? "" : scalar_text(node.text, Within::kFlow);
    std::string out;
    for (const auto& item : node.items) out += (out.empty() ? "" : ", ") + flow(item);
    for (const auto& entry : node.entries)
      out += (out.empty() ? "" : ", ") + scalar_text(entry.key, Within::kFlow) + ": " + flow(entry.value);
    return node.is_list() ? "[" + out + "]" : "{" + out + "}";
  }

  // A map or list of values, or of lists of values: {one_of: [EUR, USD]}.
  static bool is_small(const YamlNode& node, std::size_t depth = 0) {
    if (node.is_scalar()) return !(node.is_empty() && depth > 0);
    if (depth > 1) return false;
    return std::ranges::all_of(node.items, [&](const auto& item) { return is_small(item, depth + 1); }) &&
           std::ranges::all_of(node.entries, [&](const auto& e) { return is_small(e.value, depth + 1); });
  }

  bool in_one_line(const YamlNode& node, std::size_t column) const {
    if (node.items.empty() && node.entries.empty()) return true;
    return is_small(node) && !has_comment_inside(node) && column + flow(node).size() <= kWidth;
  }

  // Places of what stands in one line, so that a comment behind it is found.
  void pass(const YamlNode& node) { current_ = last_start(node); }

  void entry(const YamlEntry& entry, std::size_t indent, bool top) {
    out_.append(at_dash_ ? 0 : indent, ' ');
    at_dash_ = false;
    std::string key = scalar_text(entry.key, Within::kBlock) + ":";
    out_ += key;
    current_ = entry.at;
    const YamlNode& node = entry.value;
    bool block = top && std::ranges::find(kAlwaysBlock, std::string_view(entry.key)) != std::end(kAlwaysBlock);
    bool empty = node.items.empty() && node.entries.empty();
    if (node.is_scalar() || empty || (!block && in_one_line(node, indent + key.size() + 1))) {
      std::string value =
          node.is_scalar() ? (node.is_empty() ? "" : scalar_text(node.text, Within::kBlock)) : flow(node);
      if (!value.empty()) out_ += " " + value;
      pass(node);
      return end_line();
    }
    end_line();
    if (node.is_list()) return items(node, indent + 2);
    for (const YamlEntry& inner : node.entries) {
      lead(inner.at, indent + 2);
      this->entry(inner, indent + 2, false);
    }
  }

  void items(const YamlNode& list, std::size_t indent) {
    for (const YamlNode& item : list.items) {
      Position at = item.is_map() && !item.entries.empty() ? item.entries.front().at : item.at;
      lead(at, indent);
      out_.append(indent, ' ');
      out_ += "- ";
      if (item.is_map() && !item.entries.empty() && !(is_single(item) && !has_comment_inside(item))) {
        at_dash_ = true;
        for (const YamlEntry& inner : item.entries) {
          if (!at_dash_) lead(inner.at, indent + 2);
          entry(inner, indent + 2, false);
        }
        continue;
      }
      out_ += item.is_map()                          ? single(item)
              : item.is_scalar() && !item.is_empty() ? scalar_text(item.text, Within::kBlock)
                                                     : flow(item);
      pass(item);
      end_line();
    }
  }

  // "- pypi/1: {mirror: m.example}": one key with a small map.
  static bool is_single(const YamlNode& item) {
    return item.entries.size() == 1 && item.entries.front().value.is_map() && is_small(item.entries.front().value);
  }
  static std::string single(const YamlNode& item) {
    if (item.entries.empty()) return "{}";
    return scalar_text(item.entries.front().key, Within::kBlock) + ": " + flow(item.entries.front().value);
  }

  const Comments& comments_;
  std::string out_;
  std::size_t next_ = 0;   // comment
  std::size_t blank_ = 0;  // blank line
  Position current_;       // of the last value written
  bool at_dash_ = false;   // the next key stands behind "- "
};

}  // namespace

std::string lay_out(const YamlNode& root, const Comments& comments) { return Layout(comments).run(root); }

bool same_tree(const YamlNode& a, const YamlNode& b) {
  if (a.kind != b.kind || a.text != b.text || a.is_empty() != b.is_empty()) return false;
  return std::ranges::equal(a.items, b.items, same_tree) &&
         std::ranges::equal(a.entries, b.entries, [](const YamlEntry& x, const YamlEntry& y) {
           return x.key == y.key && same_tree(x.value, y.value);
         });
}

}  // namespace sallyport::policy::edit
