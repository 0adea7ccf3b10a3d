// PolicyDocument: what stood where in a policy file, beside the CompiledPolicy that decides. For tools that explain, compare and
// edit policies; nothing here decides anything. Plain values, owned by whoever holds the LoadOutcome.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/engine/question.h"
#include "policies/engine/reporter.h"
#include "policies/engine/rule.h"

namespace sallyport::policy {

// One entry of `rules:`, also one that could not be read.
struct RulePlace {
  Position item;                       // its first key (or the value, if it is no map)
  Position action;                     // the key allow or deny; as `item` when there is none
  Position destination;                // what stands after it
  std::optional<Position> id;          // the written id
  std::optional<std::uint32_t> index;  // into CompiledPolicy::rules(), when it was read
};

// One entry of `use:`.
struct UsePlace {
  std::string name;
  std::uint32_t version = 0;
  std::vector<std::pair<std::string, std::string>> parameters;  // as written
  Position at;
  std::uint32_t first_rule = 0;  // its rules are CompiledPolicy::rules()[first_rule] and the `rules` - 1 after it
  std::uint32_t rules = 0;

  std::string label() const { return name + "/" + std::to_string(version); }
};

// One entry of `tests:`.
struct PolicyTest {
  Action expected;
  Question question;
  std::optional<std::string> rule;  // the id of the rule that has to decide
  std::string text;                 // the question as written
  Position at;                      // of the question
};

struct PolicyDocument {
  // Where the keys stand, of those that are there.
  std::optional<Position> policy, rules, use, budgets, within, on_denial, denied, tests;
  std::vector<RulePlace> rule_places;
  std::vector<UsePlace> uses;
  std::string within_label;  // "NAME/VERSION"; empty when there is none
  std::vector<PolicyTest> policy_tests;
};

}  // namespace sallyport::policy
