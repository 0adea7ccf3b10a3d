#include "policies/engine/policy_builder.h"

#include <openssl/evp.h>

#include <array>

namespace sallyport::policy {
namespace {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  unsigned length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) std::abort();
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (unsigned char byte : digest) {
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

template <class T>
void take_less(std::optional<T>& value, const std::optional<T>& other) {
  if (other && (!value || *other < *value)) value = other;
}

Budgets stricter(Budgets budgets, const Budgets& other) {
  Limits& limits = budgets.limits;
  take_less(limits.requests, other.limits.requests);
  take_less(limits.connections_total, other.limits.connections_total);
  take_less(limits.connections_concurrent, other.limits.connections_concurrent);
  take_less(limits.duration, other.limits.duration);
  take_less(limits.upload, other.limits.upload);
  take_less(limits.download, other.limits.download);
  take_less(budgets.wall, other.wall);
  take_less(budgets.idle, other.idle);
  take_less(budgets.dns_queries, other.dns_queries);
  take_less(budgets.dns_names, other.dns_names);
  return budgets;
}

}  // namespace

PolicyBuilder::PolicyBuilder() : policy_(new CompiledPolicy), index_(std::make_unique<RuleIndex>()) {}

void PolicyBuilder::reserve(std::size_t rules) {
  policy_->rules_.reserve(rules);
  index_->reserve(rules);
}

void PolicyBuilder::identify(std::string name, std::uint32_t version) {
  policy_->name_ = std::move(name);
  policy_->version_ = version;
}

void PolicyBuilder::limit(Budgets budgets) { policy_->budgets_ = budgets; }

void PolicyBuilder::answer_denied(DeniedNames denied) { policy_->denied_names_ = denied; }

void PolicyBuilder::use(std::string label) { policy_->uses_.push_back(std::move(label)); }

void PolicyBuilder::end_after(std::uint64_t denials) { policy_->end_after_ = denials; }

void PolicyBuilder::stay_within(std::shared_ptr<const CompiledPolicy> ceiling) {
  policy_->budgets_ = stricter(policy_->budgets_, ceiling->budgets());
  take_less(policy_->end_after_, ceiling->end_after());
  policy_->ceiling_ = std::move(ceiling);
}

bool PolicyBuilder::add(Rule rule, RuleTerms terms) {
  rule.index = static_cast<std::uint32_t>(policy_->rules_.size());
  bool fits = index_->add(rule.action, std::move(terms), rule.dns != DnsGrant{});
  policy_->rules_.push_back(std::move(rule));
  return fits;
}

std::shared_ptr<const CompiledPolicy> PolicyBuilder::finish(std::string_view source) {
  policy_->sha256_ = sha256_hex(source);
  policy_->index_ = std::move(index_);
  return std::move(policy_);
}

std::shared_ptr<const CompiledPolicy> PolicyBuilder::absent() {
  PolicyBuilder builder;
  builder.identify("none", 0);
  builder.policy_->absent_ = true;
  return builder.finish("");
}

}  // namespace sallyport::policy
