// RuleTerms: what a rule matches, read and canonical.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policies/engine/host_pattern.h"
#include "policies/engine/media_type.h"
#include "policies/engine/method.h"
#include "policies/engine/path_pattern.h"
#include "policies/engine/query_pattern.h"
#include "policies/engine/rule.h"

namespace sallyport::policy {

// What a rule says of a request beyond method and path. Shared, since most rules say nothing.
struct RequestTerms {
  std::optional<QueryPattern> query;       // absent: any query
  std::vector<std::string> content_types;  // lower-case media types, ascending; empty: any body

  bool accepts_query(std::string_view text) const { return !query || query->matches(text); }
  // A body needs exactly one Content-Type, and one that is listed; a request without a body may have none.
  bool accepts_body(const ContentType& body) const;
  // True only if every request that `other` accepts is accepted here. Sound, not complete.
  bool covers(const RequestTerms& other) const;
};

struct RuleTerms {
  Scheme scheme;
  HostPattern host;
  Port port;
  // Of http rules only; an opaque rule has all methods and no path.
  MethodSet methods = MethodSet::all();
  std::optional<PathPattern> path = std::nullopt;
  std::optional<PathPattern> loose_path = std::nullopt;  // of denials: PathPattern::for_denial()
  // Of http allow rules that say more; null for all others. Immutable; owned by the copies of these terms.
  std::shared_ptr<const RequestTerms> request = nullptr;

  bool is_opaque() const noexcept { return scheme != Scheme::kHttp; }
  // Says nothing of methods or paths: a denial like this closes the port of the host.
  bool is_whole() const noexcept { return is_opaque() || (path->is_everything() && methods == MethodSet::all()); }
};

}  // namespace sallyport::policy
