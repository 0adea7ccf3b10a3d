// PathRules: the http:// rules of one action for one host pattern and port, found by path without trying each.
//
// A trie over segments: literal ones by hash, '*' as a branch of its own. What follows a mixed segment ("v*") or an inner '**' is
// kept at the node where it begins, by what the segment begins with, or what it or the path ends with. Patterns that are alike in
// this are tried one by one, and of those there are at most kMaxTried. The patterns must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "policies/engine/method.h"
#include "policies/engine/path_pattern.h"
#include "policies/engine/rule_terms.h"

namespace sallyport::policy {

inline constexpr std::uint32_t kNoRuleIndex = 0xffffffff;

class PathRules {
 public:
  struct Entry {
    const PathPattern* pattern;
    MethodSet methods;
    std::uint32_t rule;
    const RequestTerms* request = nullptr;  // null: no more terms
  };
  // What is looked for: a request, or (with `cover`) a rule that these might cover.
  struct Probe {
    std::span<const std::string_view> tokens;
    MethodSet methods;
    std::string_view query = {};
    const ContentType* body = nullptr;  // null: not asked about bodies and queries; entries with terms never match
    const RequestTerms* cover = nullptr;
  };
  struct Found {
    std::uint32_t match = kNoRuleIndex;      // the first rule that matches
    std::uint32_t path_only = kNoRuleIndex;  // the first rule with this path, whatever else it says
    std::uint32_t but_query = kNoRuleIndex;  // the first with this path and these methods, but another query
    std::uint32_t but_body = kNoRuleIndex;   // the first with this path, these methods and this query, but another body
  };

  static constexpr std::size_t kMaxTried = 256;

  PathRules();
  PathRules(PathRules&&) noexcept;
  PathRules& operator=(PathRules&&) noexcept;
  ~PathRules();

  // Rules come in ascending order. False when more than kMaxTried now have to be tried one by one somewhere.
  bool add(Entry entry);
  Found find(const Probe& probe) const;
  // The same among the rules that say nothing of paths.
  Found find_everywhere(const Probe& probe) const;
  // The first rule that looks at paths and has one of these methods; what an ambiguous path could be meant to evade.
  std::uint32_t find_by_path(MethodSet methods) const noexcept;

  bool empty() const noexcept { return state_ == nullptr; }
  std::span<const Entry> entries() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;  // most hosts have no such rules
};

}  // namespace sallyport::policy
