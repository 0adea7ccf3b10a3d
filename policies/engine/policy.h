// CompiledPolicy: a checked policy, ready to decide. An immutable snapshot, safe to use from any thread.
//
// Shared ownership: the task that runs under it and each request in flight hold it, so that a new policy can replace it
// without waiting.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/engine/limits.h"
#include "policies/engine/rule.h"

namespace sallyport::policy {

class RuleIndex;

class CompiledPolicy {
 public:
  ~CompiledPolicy();
  CompiledPolicy(const CompiledPolicy&) = delete;
  CompiledPolicy& operator=(const CompiledPolicy&) = delete;

  // From `policy: NAME/VERSION`: [a-z0-9-], and a number from 1.
  std::string_view name() const noexcept { return name_; }
  std::uint32_t version() const noexcept { return version_; }
  // "NAME/VERSION"
  std::string label() const;
  // SHA-256 of the file's bytes, 64 lower-case hexadecimal digits.
  std::string_view sha256() const noexcept { return sha256_; }
  const Budgets& budgets() const noexcept { return budgets_; }
  // In the order of the file; rules()[i].index == i.
  std::span<const Rule> rules() const noexcept { return rules_; }
  // True for deny_all(): there is no file behind it.
  bool is_absent() const noexcept { return absent_; }

  // For the engine itself.
  const RuleIndex& index() const noexcept { return *index_; }

 private:
  friend class PolicyBuilder;
  CompiledPolicy();

  std::string name_;
  std::uint32_t version_ = 0;
  std::string sha256_;
  Budgets budgets_;
  std::vector<Rule> rules_;
  std::unique_ptr<const RuleIndex> index_;
  bool absent_ = false;
};

// What holds when there is no policy: everything is denied with kNoPolicy. Its label is "none/0".
std::shared_ptr<const CompiledPolicy> deny_all();

}  // namespace sallyport::policy
