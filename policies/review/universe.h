// Universe: the few hosts, ports and methods that stand for all, as far as a pair of policies can tell them apart.
#pragma once

#include <string>
#include <vector>

#include "policies/engine/policy.h"
#include "policies/engine/rule_terms.h"

namespace sallyport::policy::review {

// All rules of a policy, and of the ceiling above it, that are about one host.
struct HostView {
  struct Entry {
    const Rule* rule;
    const RuleTerms* terms;
  };
  std::vector<Entry> rules;  // in the order of the file, those of the ceiling last
  std::size_t own = 0;       // so many before those of the ceiling

  static HostView of(const CompiledPolicy& policy, const Target& host);
  std::vector<Port> ports() const;  // ascending, each once
  HostView at(Port port) const;
  // Whether every decision must be the same, because the rules are.
  bool same_as(const HostView& other) const;
};

struct Hosts {
  std::vector<Target> targets;
  std::vector<std::string> without;  // apexes of wildcards below which no free name was found, though there may be one
};

// One target for each set of host patterns that some target matches: every name and address that is written, and for
// each wildcard a name below it that nothing else is about. A target of any other kind is matched by no rule of either
// policy.
Hosts hosts_of(const CompiledPolicy& a, const CompiledPolicy& b);

// One method for each set of rules that has it.
std::vector<std::string_view> methods_of(const HostView& a, const HostView& b);

}  // namespace sallyport::policy::review
