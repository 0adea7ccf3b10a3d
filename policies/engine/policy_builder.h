// PolicyBuilder: the only way to a CompiledPolicy. Takes what the loader has read and checked.
#pragma once

#include <memory>
#include <string>

#include "policies/engine/policy.h"
#include "policies/engine/rule_index.h"

namespace sallyport::policy {

class PolicyBuilder {
 public:
  PolicyBuilder();

  void reserve(std::size_t rules);
  void identify(std::string name, std::uint32_t version);
  void limit(Budgets budgets);
  void answer_denied(DeniedNames denied);
  // Also takes over its budgets and its end_after where they are stricter; to be called after limit() and end_after().
  void stay_within(std::shared_ptr<const CompiledPolicy> ceiling);
  // Notes that an entry of the catalogue is used: "pypi/1".
  void use(std::string label);
  void end_after(std::uint64_t denials);
  // `rule.index` is set here.
  // False when there are too many rules of a kind that cannot be indexed, see RuleIndex::add.
  bool add(Rule rule, RuleTerms terms);

  // What was added so far, for the checks that compare rules.
  const RuleIndex& index() const noexcept { return *index_; }
  std::span<const Rule> rules() const noexcept { return policy_->rules_; }

  // `source` is hashed. The builder is empty afterwards.
  std::shared_ptr<const CompiledPolicy> finish(std::string_view source);
  static std::shared_ptr<const CompiledPolicy> absent();

 private:
  std::shared_ptr<CompiledPolicy> policy_;
  std::unique_ptr<RuleIndex> index_;
};

}  // namespace sallyport::policy
