#include "policies/edit/add.h"

#include <algorithm>

#include "core/base/escape.h"
#include "policies/edit/layout.h"
#include "policies/edit/scalar_text.h"
#include "policies/review/explain.h"

namespace sallyport::policy::edit {
namespace {

using Kind = Added::Kind;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    auto end = text.find('\n');
    out.emplace_back(text.substr(0, end));
    if (end == text.npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

std::size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }
bool has_dash(std::string_view line) { return line.substr(indent_of(line)).starts_with('-'); }
bool is_blank(std::string_view line) { return indent_of(line) == line.size(); }

// Where the new rule goes: before which line (from 0), and how far in its dash stands.
struct Place {
  std::size_t line;
  std::size_t indent;
  bool make_key = false;  // there is no rules: yet
};

class Adding {
 public:
  Adding(std::string_view text, std::string_view file, std::string_view wanted, std::string_view id,
         const LoadOptions& options)
      : text_(text), file_(file), wanted_(wanted), id_(id), options_(options) {}

  Added run() {
    auto loaded = load(text_, file_, options_);
    if (!loaded.policy) return refuse("the policy does not load as it is", std::move(loaded.diagnostics));
    // Stars, or several methods: a destination as it stands in a rule.
    bool pattern = wanted_.find('*') != std::string_view::npos ||
                   wanted_.substr(0, wanted_.find("://")).find(',') != std::string_view::npos;
    if (pattern) return insert(std::string(kAllow) + scalar_text(wanted_, Within::kBlock));
    auto inquiry = review::Inquiry::parse(wanted_);
    if (!inquiry) return refuse(inquiry.error().detail);
    inquiry_ = std::move(inquiry).value();
    if (auto no = objection(*loaded.policy)) return *std::move(no);
    auto line = review::rule_for(*loaded.policy, *inquiry_);
    if (line) return insert(*line);
    auto reason = review::ask(*loaded.policy, *inquiry_).reason;
    return refuse(reason == ReasonCode::kQueryNotAllowed
                      ? "no rule can name this query: servers would read it in different ways"
                      : "no rule can allow this: " + std::string(describe(reason)));
  }

 private:
  static constexpr std::string_view kAllow = "- allow: ";

  static Added refuse(std::string why, std::vector<Diagnostic> diagnostics = {}) {
    std::erase_if(diagnostics, [](const Diagnostic& d) { return d.severity != Severity::kError; });
    return {Kind::kRefused, {}, {}, 0, std::move(why), std::move(diagnostics)};
  }

  std::optional<Added> objection(const CompiledPolicy& policy) {
    using review::Inquiry;
    if (inquiry_->kind == Inquiry::Kind::kName || inquiry_->kind == Inquiry::Kind::kRecord)
      return refuse("a lookup needs no rule of its own: write what the name is used for, such as tls://" +
                    inquiry_->target.text() + " or GET http://" + inquiry_->target.text() + "/");
    auto answer = review::ask(policy, *inquiry_);
    if (answer.allowed())
      return Added{Kind::kAlready,
                   {},
                   {},
                   answer.rule->line,
                   "it is allowed already, by rule " + std::string(answer.rule->id) + " in line " +
                       std::to_string(answer.rule->line),
                   {}};
    if (answer.reason == ReasonCode::kDeniedByRule && answer.rule)
      return refuse("rule " + std::string(answer.rule->id) + " in line " + std::to_string(answer.rule->line) +
                    " denies it, and a deny wins wherever it stands");
    if (answer.reason == ReasonCode::kNotWithinCeiling)
      return refuse("the policy allows it, but the ceiling above it does not");
    if (answer.reason == ReasonCode::kMethodOverride || answer.reason == ReasonCode::kPathAmbiguous)
      return refuse("no further rule can allow this: " + std::string(describe(answer.reason)));
    if (inquiry_->kind == Inquiry::Kind::kHttp && inquiry_->request->path.ambiguous())
      return refuse(
          "servers read this path in different ways, and only a rule for every path of the host allows it: if "
          "that is meant, add it with its stars, as in 'http://" +
          inquiry_->target.text() + "/**'");
    return std::nullopt;
  }

  // The lines of the rule, its id first.
  std::vector<std::string> with_id(const std::string& line) const {
    if (id_.empty()) return {line};
    constexpr std::string_view kBraces = "- {";
    if (line.starts_with(kBraces))
      return {std::string(kBraces) + "id: " + scalar_text(id_, Within::kFlow) + ", " + line.substr(kBraces.size())};
    return {"- id: " + scalar_text(id_, Within::kBlock), "  " + line.substr(std::string_view("- ").size())};
  }

  Added insert(const std::string& line) {
    auto lines = lines_of(text_);
    auto place = place_in(lines);
    if (!place)
      return refuse("rules: is not written with one rule to a line: run 'sallyport policy fmt' on the file first");
    std::string pad(place->indent, ' '), out, alone = "rules:\n";
    std::vector<std::string> fresh;
    if (place->make_key) fresh.push_back("rules:");
    for (const auto& each : with_id(line)) {
      fresh.push_back(pad + each);
      alone += each + "\n";
    }
    for (std::size_t i = 0; i <= lines.size(); ++i) {
      if (i == place->line)
        for (const auto& each : fresh) out += each + "\n";
      if (i < lines.size()) out += lines[i] + "\n";
    }
    return checked({Kind::kAdded,
                    std::move(out),
                    line,
                    static_cast<std::uint32_t>(place->line + (place->make_key ? 2 : 1)),
                    {},
                    {}},
                   alone);
  }

  // The file as it was, and one new rule at the end of rules:. A line that seems to be a comment may be the middle of a
  // quoted text.
  bool adds_only(const Added& added, const std::string& alone) const {
    Reporter silent("");
    auto before = read_yaml(text_, silent), after = read_yaml(added.text, silent);
    auto rule = read_yaml(alone, silent);
    if (!before || !after || !rule) return false;
    auto was = std::ranges::find(before->entries, "rules", &YamlEntry::key);
    auto is = std::ranges::find(after->entries, "rules", &YamlEntry::key);
    if (is == after->entries.end() || is->value.items.empty()) return false;
    if (!same_tree(is->value.items.back(), rule->entries.front().value.items.front())) return false;
    is->value.items.pop_back();
    if (is->value.items.empty() && was == before->entries.end())
      after->entries.erase(is);
    else if (is->value.items.empty())
      is->value = was->value;
    return same_tree(*before, *after);
  }

  // What was put in has to be all that is new, to load and to allow what was wanted.
  Added checked(Added added, const std::string& alone) {
    if (!adds_only(added, alone))
      return refuse(
          "a line put in there would change what stands around it: run 'sallyport policy fmt' on the file first");
    auto loaded = load(added.text, file_, options_);
    if (!loaded.policy) {
      for (const Diagnostic& d : loaded.diagnostics)
        if (d.severity == Severity::kError && d.line == added.line && d.message.starts_with("this rule never decides"))
          return {
              Kind::kAlready, {}, {}, 0, "it is allowed already: " + d.message.substr(d.message.find(": ") + 2), {}};
      return refuse("with it the policy would not load", std::move(loaded.diagnostics));
    }
    if (inquiry_ && !review::ask(*loaded.policy, *inquiry_).allowed())
      return refuse("even with the rule it would be refused: " +
                    review::summary(review::ask(*loaded.policy, *inquiry_)));
    return added;
  }

  std::optional<Place> place_in(std::vector<std::string>& lines) const {
    Reporter silent("");
    auto root = read_yaml(text_, silent);
    if (!root) return std::nullopt;
    auto rules = std::ranges::find(root->entries, "rules", &YamlEntry::key);
    if (root->flow) return std::nullopt;
    if (rules == root->entries.end()) return Place{lines.size(), 2, true};
    const YamlNode& list = rules->value;
    std::size_t key = rules->at.line - 1;
    if (list.is_empty()) return Place{key + 1, 2};
    if (!list.is_list() || list.flow) return std::nullopt;
    // From the next key back over what stands before it: blank lines, and comments that are as far out as the dashes.
    auto next = rules + 1;
    std::size_t end = next == root->entries.end() ? lines.size() : next->at.line - 1;
    std::size_t first = list.items.front().at.line - 1;
    // A dash may stand on a line above what it begins.
    while (!has_dash(lines[first]) && first > key) --first;
    if (first == key) return std::nullopt;
    std::size_t indent = indent_of(lines[first]);
    while (end > key + 1 &&
           (is_blank(lines[end - 1]) || (lines[end - 1][indent_of(lines[end - 1])] == '#' &&
                                         indent_of(lines[end - 1]) <= indent && next != root->entries.end())))
      --end;
    return Place{end, indent};
  }

  std::string_view text_, file_, wanted_, id_;
  const LoadOptions& options_;
  std::optional<review::Inquiry> inquiry_;
};

}  // namespace

Added add(std::string_view text, std::string_view file_name, std::string_view wanted, std::string_view id,
          const LoadOptions& options) {
  return Adding(text, file_name, wanted, id, options).run();
}

}  // namespace sallyport::policy::edit
