#include "policies/engine/catalogue_reader.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "policies/engine/key_table.h"
#include "policies/engine/settings_reader.h"
#include "policies/engine/tests_reader.h"
#include "policies/engine/text_check.h"

namespace sallyport::policy {
namespace {

using Text = std::string_view;

constexpr std::array kKeys{Text("catalogue"), Text("about"), Text("note"), Text("parameters"), Text("rules"), Text("tests")};
constexpr KeyTable kEntry{"a catalogue entry", kKeys, {}};
constexpr std::array kParameterKeys{Text("about"), Text("regex"), Text("default")};
constexpr KeyTable kParameter{"a parameter", kParameterKeys, {}};

class EntryReading {
 public:
  EntryReading(const YamlNode& root, Reporter& reporter) : root_(root), reporter_(reporter) {}

  std::optional<CatalogueEntry> read() {
    for (const YamlEntry& entry : root_.entries) {
      if (!check_key(kEntry, entry, reporter_)) continue;
      if (entry.key == "about") entry_.about = text(entry.value);
      if (entry.key == "note") entry_.note = text(entry.value);
      if (entry.key == "parameters") parameters(entry.value);
      if (entry.key == "rules") rules(entry.value);
      if (entry.key == "tests") entry_.tests = read_tests(entry.value, reporter_);
      if (entry.key != "catalogue") continue;
      entry_.label = text(entry.value);
      if (!label_of(entry_.label)) reporter_.error(entry.value.at, "an entry is named NAME/VERSION", entry_.label, "catalogue: pypi/1");
    }
    if (entry_.label.empty() || entry_.about.empty() || entry_.rules.empty() || entry_.tests.empty())
      reporter_.error(root_.at, "an entry has a name, about:, rules: and tests:", {}, "all of them");
    if (reporter_.failed()) return std::nullopt;
    return std::move(entry_);
  }

 private:
  std::string text(const YamlNode& node) {
    if (node.is_scalar() && !node.text.empty()) return node.text;
    reporter_.error(node.at, "this key holds a text", node.text, "one line of text");
    return {};
  }

  void parameters(const YamlNode& node) {
    if (!require_map(node, "parameters", "suite: and below it about:, regex: and default:", reporter_)) return;
    for (const YamlEntry& each : node.entries) {
      if (!require_map(each.value, each.key, "about:, regex: and default:", reporter_)) return;
      CatalogueParameter parameter{each.key, {}, {}, {}};
      for (const YamlEntry& entry : each.value.entries) {
        if (!check_key(kParameter, entry, reporter_)) continue;
        (entry.key == "about" ? parameter.about : entry.key == "regex" ? parameter.regex : parameter.standard) = text(entry.value);
      }
      if (!RE2::FullMatch(parameter.standard, parameter.regex))
        reporter_.error(each.at, "the default of a parameter has to match its regex", parameter.standard, "another default");
      entry_.parameters.push_back(std::move(parameter));
    }
  }

  void rules(const YamlNode& node) {
    for (const YamlNode& item : node.items) {
      CatalogueRule rule{{}, {}, item};
      std::erase_if(rule.node.entries, [&](const YamlEntry& entry) {
        if (entry.key == "id") rule.id = entry.value.text;
        if (entry.key == "reason") rule.reason = entry.value.text;
        return entry.key == "id" || entry.key == "reason";
      });
      if (rule.id.empty() || rule.reason.empty())
        reporter_.error(item.at, "a rule of the catalogue has an id and a reason", {}, "id: and reason:");
      entry_.rules.push_back(std::move(rule));
    }
  }

  const YamlNode& root_;
  Reporter& reporter_;
  CatalogueEntry entry_;
};

}  // namespace

std::optional<CatalogueEntry> read_catalogue_entry(std::string_view text, Reporter& reporter) {
  if (!check_text(text, reporter)) return std::nullopt;
  auto root = read_yaml(text, reporter);
  if (!root) return std::nullopt;
  return EntryReading(*root, reporter).read();
}

}  // namespace sallyport::policy
