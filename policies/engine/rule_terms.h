// RuleTerms: what a rule matches, read and canonical.
#pragma once

#include <memory>
#include <optional>

#include "policies/engine/host_pattern.h"
#include "policies/engine/method.h"
#include "policies/engine/path_pattern.h"
#include "policies/engine/rule.h"

namespace sallyport::policy {

struct RuleTerms {
  Scheme scheme;
  HostPattern host;
  Port port;
  // Of http rules only; an opaque rule has all methods and no path.
  MethodSet methods = MethodSet::all();
  std::optional<PathPattern> path = std::nullopt;
  std::optional<PathPattern> loose_path = std::nullopt;  // of denials: PathPattern::for_denial()

  bool is_opaque() const noexcept { return scheme != Scheme::kHttp; }
  // Says nothing of methods or paths: a denial like this closes the port of the host.
  bool is_whole() const noexcept { return is_opaque() || (path->is_everything() && methods == MethodSet::all()); }
};

}  // namespace sallyport::policy
