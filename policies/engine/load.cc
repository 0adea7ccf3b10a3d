#include "policies/engine/load.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "policies/engine/ceiling_checks.h"
#include "policies/engine/flat_index.h"
#include "policies/engine/key_table.h"
#include "policies/engine/language_keys.h"
#include "policies/engine/limits_reader.h"
#include "policies/engine/policy_builder.h"
#include "policies/engine/relay_check.h"
#include "policies/engine/rule_checks.h"
#include "policies/engine/rule_reader.h"
#include "policies/engine/settings_reader.h"
#include "policies/engine/tests_reader.h"
#include "policies/engine/text_check.h"
#include "policies/engine/use_reader.h"

namespace sallyport::policy {
namespace {

using Text = std::string_view;

constexpr std::array kKeys{Text("policy"), Text("rules"), Text("budgets"), Text("on_denial"), Text("denied"), Text("tests"), Text("within"), Text("use")};
constexpr std::array kHints{
    KeyHint{"allow", "allow belongs in a rule", "rules: and below it - allow: ..."},
    KeyHint{"deny", "deny belongs in a rule", "rules: and below it - deny: ..."},
    KeyHint{"dns", "lookups are limited in budgets:, and record types granted by a rule",
            "budgets: {dns: {queries: 2000}}, or dns: [TXT] in a rule"},
    KeyHint{"version", "the version follows the name", "policy: NAME/VERSION"},
    KeyHint{"name", "the name and version are one value", "policy: NAME/VERSION"},
    KeyHint{"limits", "limits belong to a rule, budgets to the policy", "budgets:"},
    KeyHint{"addresses", "addresses belong in the configuration of the appliance, not into a policy",
            "the policy without it"},
    KeyHint{"credentials", "credentials are configured on the appliance, never in a policy", "the policy without it"},
    KeyHint{"domains", "what is allowed stands in rules", "rules: and below it - allow: tls://api.example"},
    KeyHint{"network", "what is allowed stands in rules", "rules: and below it - allow: tls://api.example"}};
constexpr KeyTable kPolicy{"a policy", kKeys, {}, kHints};

const YamlEntry* find(const YamlNode& map, std::string_view key) {
  auto found = std::ranges::find(map.entries, key, &YamlEntry::key);
  return found == map.entries.end() ? nullptr : &*found;
}

class Loading {
 public:
  Loading(std::string_view text, std::string_view file, const LoadOptions& options)
      : text_(text), options_(options), reporter_(file), rules_reporter_(file), document_(std::make_shared<PolicyDocument>()) {}

  LoadOutcome run() {
    if (check_text(text_, reporter_)) {
      reserve();
      auto root = read_yaml(text_, reporter_, "rules", [this](const YamlNode& item) { rule(item); });
      if (root) document(*root);
    }
    LoadOutcome outcome;
    if (!reporter_.failed()) outcome.policy = builder_.finish(text_);
    outcome.diagnostics = reporter_.take();
    if (is_map_) outcome.document = std::move(document_);
    return outcome;
  }

 private:
  void document(const YamlNode& root) {
    if (!require_map(root, "a policy file", "policy: NAME/1 and, below, rules:", reporter_)) return;
    is_map_ = true;
    for (const YamlEntry& entry : root.entries) check_key(kPolicy, entry, reporter_);
    if (const YamlEntry* entry = placed(root, "policy", document_->policy)) {
      if (auto label = read_identity(entry->value, reporter_)) builder_.identify(std::move(label->name), label->version);
    } else {
      reporter_.error(root.at, "the policy has no name", {}, "policy: NAME/1 as its first line");
    }
    settings(root);
    rules(root);
    if (options_.ceiling) check_within(builder_, *options_.ceiling, places_, reporter_);
    if (const YamlEntry* entry = placed(root, "tests", document_->tests)) tests(entry->value);
  }

  // The entry, and its place noted.
  static const YamlEntry* placed(const YamlNode& root, std::string_view key, std::optional<Position>& at) {
    const YamlEntry* entry = find(root, key);
    if (entry != nullptr) at = entry->at;
    return entry;
  }

  void settings(const YamlNode& root) {
    if (const YamlEntry* entry = placed(root, "budgets", document_->budgets))
      builder_.limit(read_budgets(entry->value, reporter_));
    if (const YamlEntry* entry = placed(root, "denied", document_->denied))
      if (auto denied = read_denied(entry->value, reporter_)) builder_.answer_denied(*denied);
    if (const YamlEntry* entry = placed(root, "on_denial", document_->on_denial))
      if (auto count = read_on_denial(entry->value, reporter_)) builder_.end_after(*count);
    if (const YamlEntry* entry = placed(root, "within", document_->within))
      if (auto label = read_within(entry->value, options_.ceiling.get(), reporter_)) document_->within_label = entry->value.text;
    if (options_.ceiling) stay_within(root);
  }

  void stay_within(const YamlNode& root) {
    if (!ceiling_faults(*options_.ceiling, {}).empty())
      return reporter_.error(root.at, options_.ceiling->label() + " cannot be the policy that others stay within", {},
                             "one without limits of rules and without within:");
    builder_.stay_within(options_.ceiling);
  }

  void tests(const YamlNode& node) {
    document_->policy_tests = read_tests(node, reporter_);
    std::unordered_set<std::string_view> ids;
    for (const Rule& rule : builder_.rules()) ids.insert(rule.id);
    for (const PolicyTest& test : document_->policy_tests)
      if (test.rule && !ids.contains(*test.rule) && !reporter_.failed())
        reporter_.error(test.at, "a test names the rule " + quoted(*test.rule) + ", and there is none", *test.rule,
                        "the id of a rule");
  }

  void rules(const YamlNode& root) {
    const YamlEntry* entry = placed(root, "rules", document_->rules);
    const YamlEntry* used = placed(root, "use", document_->use);
    reporter_.absorb(std::move(rules_reporter_));
    if (entry != nullptr && !entry->value.is_empty() && !entry->value.is_list())
      reporter_.error(entry->value.at, "rules: holds a list, not " + std::string(kind_text(entry->value)),
                      entry->value.text, "each rule in a line that begins with '- '");
    if (used != nullptr) use(used->value);
    if (builder_.rules().empty() && !reporter_.failed()) {
      Position at = entry == nullptr ? root.at : entry->at;
      reporter_.warning(at, "there are no rules: this policy denies everything", {},
                        "rules: and below it - allow: tls://api.example");
    }
    check_together(builder_, places_, reporter_);
  }

  // A rule has a line at least, in files that are long.
  void reserve() {
    auto lines = static_cast<std::size_t>(std::ranges::count(text_, '\n'));
    builder_.reserve(std::min(lines, kMaxRules));
  }

  void use(const YamlNode& node) {
    for (UsedEntry& used : read_use(node, options_.task, reporter_)) {
      used.place.first_rule = static_cast<std::uint32_t>(builder_.rules().size());
      used.place.rules = static_cast<std::uint32_t>(used.rules.size());
      for (ReadRule& read : used.rules) {
        places_.push_back(read.at);
        builder_.add(std::move(read.rule), std::move(read.terms));
      }
      if (!used.note.empty()) reporter_.note(used.place.at, used.note);
      builder_.use(used.place.label());
      document_->uses.push_back(std::move(used.place));
    }
  }

  void identify(const ReadRule& read) {
    const std::string& id = read.rule.id;
    auto hash = SuffixHash::of(id);
    auto first = ids_.find(hash, [&](std::uint32_t rule) { return builder_.rules()[rule].id == id; });
    if (first == FlatIndex::kNone) return ids_.insert(hash, static_cast<std::uint32_t>(builder_.rules().size()));
    rules_reporter_.error(read.id_at,
                          "the id " + quoted(id) + " stands twice, first in line " + std::to_string(builder_.rules()[first].line), id,
                          "another id");
  }

  // While the file is read.
  void rule(const YamlNode& node) {
    auto index = static_cast<std::uint32_t>(document_->rule_places.size());
    if (index == kMaxRules) return too_many(node);
    RulePlace& place = note_place(node);
    auto read = read_rule(node, index, options_.task, rules_reporter_);
    if (!read) return;
    if (read->has_id) {
      place.id = read->id_at;
      identify(*read);
    }
    place.index = static_cast<std::uint32_t>(builder_.rules().size());
    check_relay(read->rule, read->terms, read->at, rules_reporter_);
    check_covered(builder_, read->rule, read->terms, read->at, rules_reporter_);
    places_.push_back(read->at);
    if (builder_.add(std::move(read->rule), std::move(read->terms))) return;
    rules_reporter_.error(read->at, "more than " + std::to_string(PathRules::kMaxTried) + " rules for one host and port that begin alike and go on with wildcards",
                          builder_.rules().back().text, "fewer rules, each with a star in a segment of its own");
  }

  void too_many(const YamlNode& node) {
    if (!std::exchange(told_too_many_, true)) rules_reporter_.error(node.at, "more than 200000 rules", {}, "fewer rules");
  }

  RulePlace& note_place(const YamlNode& node) {
    RulePlace& place = document_->rule_places.emplace_back();
    place.item = place.action = place.destination = node.at;
    for (const YamlEntry& entry : node.entries) {
      if (entry.key != "allow" && entry.key != "deny") continue;
      place.action = entry.at;
      place.destination = entry.value.at;
    }
    return place;
  }

  std::string_view text_;
  const LoadOptions& options_;
  Reporter reporter_;
  Reporter rules_reporter_;  // what is said of rules before all of the file is known to be YAML
  PolicyBuilder builder_;
  std::vector<Position> places_;
  FlatIndex ids_;  // of rules, by the ids that are written
  bool told_too_many_ = false;
  std::shared_ptr<PolicyDocument> document_;
  bool is_map_ = false;
};

}  // namespace

KeyTable policy_keys() noexcept { return kPolicy; }

LoadOutcome load(std::string_view text, std::string_view file_name, const LoadOptions& options) {
  return Loading(text, file_name, options).run();
}

}  // namespace sallyport::policy
