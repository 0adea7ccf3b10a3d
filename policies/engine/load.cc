#include "policies/engine/load.h"

#include <algorithm>
#include <array>

#include "policies/engine/key_table.h"
#include "policies/engine/limits_reader.h"
#include "policies/engine/policy_builder.h"
#include "policies/engine/rule_checks.h"
#include "policies/engine/rule_reader.h"
#include "policies/engine/text_check.h"
#include "policies/engine/text_hash.h"

namespace sallyport::policy {
namespace {

using Text = std::string_view;

constexpr std::array kKeys{Text("policy"), Text("rules"), Text("budgets")};
constexpr std::array kNotYet{Text("use"), Text("on_denial"), Text("within"),
                             Text("dns"), Text("tests"),     Text("denied")};
constexpr std::array kHints{
    KeyHint{"allow", "allow belongs in a rule", "rules: and below it - allow: ..."},
    KeyHint{"deny", "deny belongs in a rule", "rules: and below it - deny: ..."},
    KeyHint{"version", "the version follows the name", "policy: NAME/VERSION"},
    KeyHint{"name", "the name and version are one value", "policy: NAME/VERSION"},
    KeyHint{"limits", "limits belong to a rule, budgets to the policy", "budgets:"},
    KeyHint{"addresses", "addresses belong in the configuration of the appliance, not into a policy",
            "the policy without it"},
    KeyHint{"credentials", "credentials are configured on the appliance, never in a policy", "the policy without it"},
    KeyHint{"domains", "what is allowed stands in rules", "rules: and below it - allow: tls://api.example"},
    KeyHint{"network", "what is allowed stands in rules", "rules: and below it - allow: tls://api.example"}};
constexpr KeyTable kPolicy{"a policy", kKeys, kNotYet, kHints};

const YamlEntry* find(const YamlNode& map, std::string_view key) {
  auto found = std::ranges::find(map.entries, key, &YamlEntry::key);
  return found == map.entries.end() ? nullptr : &*found;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && text.front() != '-' &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

class Loading {
 public:
  Loading(std::string_view text, std::string_view file) : text_(text), reporter_(file) {}

  LoadOutcome run() {
    if (check_text(text_, reporter_))
      if (auto root = read_yaml(text_, reporter_)) document(*root);
    LoadOutcome outcome;
    if (!reporter_.failed()) outcome.policy = builder_.finish(text_);
    outcome.diagnostics = reporter_.take();
    return outcome;
  }

 private:
  void document(const YamlNode& root) {
    if (!require_map(root, "a policy file", "policy: NAME/1 and, below, rules:", reporter_)) return;
    for (const YamlEntry& entry : root.entries) check_key(kPolicy, entry, reporter_);
    identity(root);
    if (const YamlEntry* budgets = find(root, "budgets")) builder_.limit(read_budgets(budgets->value, reporter_));
    rules(root);
  }

  void identity(const YamlNode& root) {
    const YamlEntry* entry = find(root, "policy");
    if (entry == nullptr)
      return reporter_.error(root.at, "the policy has no name", {}, "policy: NAME/1 as its first line");
    std::string_view text = entry->value.text;
    auto slash = text.find('/');
    auto name = text.substr(0, slash);
    auto number = slash == text.npos ? Result<std::uint64_t>(fail(ErrorKind::kInvalid, ""))
                                     : parse_decimal(text.substr(slash + 1));
    bool fine =
        entry->value.is_scalar() && is_name(name) && number && number.value() >= 1 && number.value() <= 1'000'000'000;
    if (fine) return builder_.identify(std::string(name), static_cast<std::uint32_t>(number.value()));
    std::string advice =
        slash == text.npos && is_name(name) ? "policy: " + std::string(name) + "/1" : "policy: catalog-report/3";
    reporter_.error(entry->value.at, "a policy is named NAME/VERSION: a-z, 0-9 and - in the name, a number from 1",
                    text, advice);
  }

  void rules(const YamlNode& root) {
    const YamlEntry* entry = find(root, "rules");
    if (entry == nullptr || entry->value.is_empty() || (entry->value.is_list() && entry->value.items.empty())) {
      if (reporter_.failed()) return;
      Position at = entry == nullptr ? root.at : entry->at;
      return reporter_.warning(at, "there are no rules: this policy denies everything", {},
                               "rules: and below it - allow: tls://api.example");
    }
    if (!entry->value.is_list())
      return reporter_.error(entry->value.at, "rules: holds a list, not " + std::string(kind_text(entry->value)),
                             entry->value.text, "each rule in a line that begins with '- '");
    if (entry->value.items.size() > kMaxRules) return reporter_.error(entry->at, "more than 200000 rules");
    builder_.reserve(entry->value.items.size());
    places_.reserve(entry->value.items.size());
    for (std::uint32_t i = 0; i < entry->value.items.size(); ++i) rule(entry->value.items[i], i);
    check_together(builder_, places_, reporter_);
  }

  void identify(const ReadRule& read) {
    auto [first, fresh] = ids_.try_emplace(read.rule.id, read.rule.line);
    if (fresh) return;
    reporter_.error(read.id_at,
                    "the id " + quoted(read.rule.id) + " stands twice, first in line " + std::to_string(first->second),
                    read.rule.id, "another id");
  }

  void rule(const YamlNode& node, std::uint32_t index) {
    auto read = read_rule(node, index, reporter_);
    if (!read) return;
    if (read->has_id) identify(*read);
    check_covered(builder_, read->rule, read->terms, read->at, reporter_);
    places_.push_back(read->at);
    builder_.add(std::move(read->rule), std::move(read->terms));
  }

  std::string_view text_;
  Reporter reporter_;
  PolicyBuilder builder_;
  std::vector<Position> places_;
  TextMap<std::uint32_t> ids_;  // to the lines where they stand
};

}  // namespace

LoadOutcome load(std::string_view text, std::string_view file_name) { return Loading(text, file_name).run(); }

}  // namespace sallyport::policy
