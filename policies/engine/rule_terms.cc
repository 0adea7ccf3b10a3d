#include "policies/engine/rule_terms.h"

#include <algorithm>

namespace sallyport::policy {

bool RequestTerms::accepts_body(const ContentType& body) const {
  if (content_types.empty()) return true;
  if (body.fields() == 0) return !body.has_body();
  if (body.fields() > 1) return false;
  auto type = media_type_of(body.value());
  return type && std::ranges::binary_search(content_types, *type);
}

bool RequestTerms::covers(const RequestTerms& other) const {
  bool queries = !query || (other.query && query->covers(*other.query));
  bool bodies = content_types.empty() ||
                (!other.content_types.empty() && std::ranges::includes(content_types, other.content_types));
  return queries && bodies;
}

}  // namespace sallyport::policy
