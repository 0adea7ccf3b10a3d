// CompiledPolicy: a checked policy, ready to decide. An immutable snapshot, safe to use from any thread.
//
// Shared ownership: the task that runs under it and each request in flight hold it, so that a new policy can replace it
// without waiting.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/engine/limits.h"
#include "policies/engine/rule.h"

namespace sallyport::policy {

class RuleIndex;
struct RuleTerms;

// What a name that the policy denies is answered with.
enum class DeniedNames : std::uint8_t {
  kNxdomain,  // the name does not exist
  kExplain,   // an address where connections get the readable refusal
};

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
  // What the rule matches.
  const RuleTerms& terms(std::uint32_t rule) const noexcept;
  // `denied:`
  DeniedNames denied_names() const noexcept { return denied_names_; }
  // `on_denial: {end_after: N}`: the task ends at its N-th denial.
  std::optional<std::uint64_t> end_after() const noexcept { return end_after_; }
  // "pypi/1", in the order of `use:`.
  std::span<const std::string> uses() const noexcept { return uses_; }
  // What the policy is within: every decision needs its consent too. Null when there is none. budgets() and end_after()
  // are already the stricter of both.
  const CompiledPolicy* ceiling() const noexcept { return ceiling_.get(); }
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
  DeniedNames denied_names_ = DeniedNames::kNxdomain;
  std::optional<std::uint64_t> end_after_;
  std::vector<std::string> uses_;
  std::shared_ptr<const CompiledPolicy> ceiling_;  // shared with the other policies within it
  bool absent_ = false;
};

// What holds when there is no policy: everything is denied with kNoPolicy. Its label is "none/0".
std::shared_ptr<const CompiledPolicy> deny_all();

}  // namespace sallyport::policy
