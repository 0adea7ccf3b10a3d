#include "policies/engine/policy.h"

#include "policies/engine/policy_builder.h"
#include "policies/engine/rule_index.h"

namespace sallyport::policy {

CompiledPolicy::CompiledPolicy() = default;
CompiledPolicy::~CompiledPolicy() = default;

const RuleTerms& CompiledPolicy::terms(std::uint32_t rule) const noexcept { return index_->terms(rule); }

std::string CompiledPolicy::label() const { return name_ + "/" + std::to_string(version_); }

std::shared_ptr<const CompiledPolicy> deny_all() {
  static const std::shared_ptr<const CompiledPolicy> kNone = PolicyBuilder::absent();
  return kNone;
}

}  // namespace sallyport::policy
