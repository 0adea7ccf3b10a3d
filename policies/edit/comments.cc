#include "policies/edit/comments.h"

#include <algorithm>
#include <set>

namespace sallyport::policy::edit {
namespace {

using Start = std::pair<std::uint32_t, std::uint32_t>;

void collect(const YamlNode& node, std::set<Start>& starts) {
  starts.insert({node.at.line, node.at.column});
  for (const auto& item : node.items) collect(item, starts);
  for (const auto& entry : node.entries) {
    starts.insert({entry.at.line, entry.at.column});
    collect(entry.value, starts);
  }
}

class Scan {
 public:
  Scan(std::string_view text, const YamlNode& root) : text_(text) { collect(root, starts_); }

  Comments run() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if ((c == '\'' || c == '"') && starts_.contains({line_, column_})) {
        quoted(c);
      } else if (c == '#' && (at_ == 0 || text_[at_ - 1] == ' ' || text_[at_ - 1] == '\n')) {
        comment();
      } else {
        blank_ = blank_ && (c == ' ' || c == '\n');
        step();
      }
    }
    return std::move(out_);
  }

 private:
  void step() {
    char c = text_[at_++];
    if (c == '\n') {
      if (blank_) out_.blank_lines.push_back(line_);
      ++line_;
      column_ = 1;
      blank_ = true;
    } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
      ++column_;
    }
  }

  void quoted(char quote) {
    step();
    while (at_ < text_.size()) {
      blank_ = false;
      if (quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) {
        step();
        step();
        continue;
      }
      bool ends = text_[at_] == quote;
      step();
      if (!ends) continue;
      if (quote == '\'' && at_ < text_.size() && text_[at_] == quote)
        step();
      else
        return;
    }
  }

  void comment() {
    auto end = std::min(text_.find('\n', at_), text_.size());
    auto text = text_.substr(at_, end - at_);
    while (text.ends_with(' ')) text.remove_suffix(1);
    out_.all.push_back({{line_, column_}, blank_, std::string(text)});
    blank_ = false;
    while (at_ < end) step();
  }

  std::string_view text_;
  std::set<Start> starts_;
  Comments out_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1, column_ = 1;
  bool blank_ = true;  // only spaces on this line so far
};

}  // namespace

Comments comments_of(std::string_view text, const YamlNode& root) { return Scan(text, root).run(); }

}  // namespace sallyport::policy::edit
