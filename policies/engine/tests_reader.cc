#include "policies/engine/tests_reader.h"

#include <algorithm>
#include <array>

#include "policies/engine/key_table.h"
#include "policies/engine/language_keys.h"

namespace sallyport::policy {
namespace {

using Text = std::string_view;

constexpr std::array kKeys{Text("allow"), Text("deny"), Text("rule"), Text("content_type")};
constexpr std::array kHints{KeyHint{"id", "the rule that has to decide is rule:", "rule: price-list"},
                            KeyHint{"expect", "what is expected is the key", "allow: or deny: and the request"},
                            KeyHint{"request", "what is expected is the key", "allow: or deny: and the request"}};
constexpr KeyTable kTest{"a test", kKeys, {}, kHints};
constexpr Text kExample = "- allow: GET http://api.example/v1/x";

class TestReading {
 public:
  TestReading(const YamlNode& node, Reporter& reporter) : node_(node), reporter_(reporter) {}

  std::optional<PolicyTest> read() {
    if (!node_.is_map())
      return refuse(node_, "a test is a map, not " + std::string(kind_text(node_)), std::string(kExample));
    const YamlEntry *asked = nullptr, *rule = nullptr, *type = nullptr;
    bool fine = true;
    for (const YamlEntry& entry : node_.entries) {
      if (!check_key(kTest, entry, reporter_)) {
        fine = false;
        continue;
      }
      const YamlEntry*& slot = entry.key == "rule" ? rule : entry.key == "content_type" ? type : asked;
      if (slot == asked && asked != nullptr)
        return refuse(entry.value, "a test expects one thing of one request", "two tests");
      slot = &entry;
    }
    if (!fine) return std::nullopt;
    if (asked == nullptr) return refuse(node_, "a test without allow: or deny:", std::string(kExample));
    return of(*asked, rule, type);
  }

 private:
  std::nullopt_t refuse(const YamlNode& node, std::string message, std::string advice) {
    reporter_.error(node.at, std::move(message), node.text, std::move(advice));
    return std::nullopt;
  }

  std::optional<PolicyTest> of(const YamlEntry& asked, const YamlEntry* rule, const YamlEntry* type) {
    const YamlNode& node = asked.value;
    if (!node.is_scalar() || node.is_empty()) return refuse(node, "a test asks one thing", std::string(kExample));
    auto question = Question::parse(node.text);
    if (!question) {
      constexpr Text kWrite = ": write ";
      std::string detail = question.error().detail;
      auto at = detail.find(kWrite);
      return refuse(node, detail.substr(0, at), at == detail.npos ? std::string(kExample) : detail.substr(at + kWrite.size()));
    }
    PolicyTest test{asked.key == "allow" ? Action::kAllow : Action::kDeny, std::move(question).value(), {}, node.text, node.at};
    if (rule != nullptr) {
      if (!rule->value.is_scalar() || rule->value.text.empty())
        return refuse(rule->value, "rule holds the id of a rule", "rule: price-list");
      test.rule = rule->value.text;
    }
    if (type == nullptr) return test;
    bool readable = test.question.kind == Question::Kind::kRequest;
    if (!readable || !type->value.is_scalar() || type->value.text.empty())
      return refuse(type->value, "content_type is that of the body of an http:// request", "content_type: application/json");
    test.question.content_type = type->value.text;
    return test;
  }

  const YamlNode& node_;
  Reporter& reporter_;
};

}  // namespace

KeyTable test_keys() noexcept { return kTest; }

std::vector<PolicyTest> read_tests(const YamlNode& node, Reporter& reporter) {
  std::vector<PolicyTest> tests;
  if (!node.is_list()) {
    reporter.error(node.at, "tests: holds a list, not " + std::string(kind_text(node)), node.text, std::string(kExample));
    return tests;
  }
  if (node.items.size() > kMaxTests) {
    reporter.error(node.at, "more than 10000 tests", {}, "a file of their own");
    return tests;
  }
  for (const YamlNode& item : node.items)
    if (auto test = TestReading(item, reporter).read()) tests.push_back(*std::move(test));
  return tests;
}

}  // namespace sallyport::policy
