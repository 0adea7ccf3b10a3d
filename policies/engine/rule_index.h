// RuleIndex: rules by host and port, so that a decision looks at what could match and at nothing else.
//
// Names are hashed from their ends, label by label, so that one walk over a name finds it and every wildcard above it; ports are
// found by binary search. Owns the terms of its rules. Filled once, then only read.
#pragma once

#include <array>
#include <deque>
#include <unordered_map>
#include <vector>

#include "policies/engine/flat_index.h"
#include "policies/engine/path_rules.h"
#include "policies/engine/rule_terms.h"

namespace sallyport::policy {

// All rules for one host pattern and one port. Indices are kNoRuleIndex when there is none.
struct PortRules {
  explicit PortRules(Port p) : port(p) {}
  Port port;
  std::uint32_t opaque_allow = kNoRuleIndex;  // the first
  std::uint32_t whole_deny = kNoRuleIndex;    // the first that closes the port: opaque, or http without any terms
  PathRules allow;
  PathRules deny;  // those that do not close the port, by loosened path

  bool allows() const noexcept { return opaque_allow != kNoRuleIndex || !allow.empty(); }
};

struct HostRules {
  std::string_view name = {};    // or apex; borrowed from the terms of a rule
  std::vector<PortRules> ports;  // ascending
  std::uint32_t first_allow = kNoRuleIndex;
  std::vector<std::uint32_t> granting;  // allow rules with `dns:`, ascending

  const PortRules* at(Port port) const noexcept;
  PortRules& make(Port port);
};

// The host patterns that match one target: the exact one first, then wildcards from the narrowest.
class HostMatches {
 public:
  void push(const HostRules& rules) noexcept { found_[size_++] = &rules; }
  const HostRules* const* begin() const noexcept { return found_.data(); }
  const HostRules* const* end() const noexcept { return found_.data() + size_; }
  bool empty() const noexcept { return size_ == 0; }

 private:
  static constexpr std::size_t kMost = 128;  // a name has at most 127 labels
  std::array<const HostRules*, kMost> found_;
  std::size_t size_ = 0;
};

class RuleIndex {
 public:
  void reserve(std::size_t rules);
  // Indices are given out in order: the first rule added is 0. False when the rules for this host and port that have to be tried
  // one by one are now too many (PathRules::kMaxTried).
  bool add(Action action, RuleTerms terms, bool grants_dns = false);

  void match(const Target& target, HostMatches& out) const noexcept { collect(target, false, out); }
  // The patterns that match whatever `host` matches, itself among them.
  void match_covering(const HostPattern& host, HostMatches& out) const noexcept {
    collect(host.target(), host.is_wildcard(), out);
  }

  const RuleTerms& terms(std::uint32_t rule) const noexcept { return terms_[rule]; }
  Action action(std::uint32_t rule) const noexcept { return actions_[rule]; }
  std::size_t size() const noexcept { return terms_.size(); }

 private:
  HostRules& rules_for(const HostPattern& host);  // of `host` as it stands in terms_
  const HostRules* find(const FlatIndex& index, std::uint64_t hash, std::string_view name) const noexcept;
  void collect(const Target& target, bool wildcard, HostMatches& out) const noexcept;

  std::deque<RuleTerms> terms_;  // entries of PathRules point into it
  std::vector<Action> actions_;
  std::deque<HostRules> hosts_;
  FlatIndex exact_;  // of hosts_, by name
  FlatIndex below_;  // of hosts_, by apex
  std::unordered_map<IpAddress, HostRules> literal_;
};

}  // namespace sallyport::policy
