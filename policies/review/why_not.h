// why_not: the first of a rule's terms that a inquiry does not fit, or that there is none.
#pragma once

#include <cstdint>
#include <string>

#include "policies/engine/rule_terms.h"
#include "policies/review/inquiry.h"

namespace sallyport::policy::review {

// In the order in which they are looked at; a later one is a nearer miss.
enum class Term : std::uint8_t { kHost, kPort, kScheme, kPath, kMethod, kQuery, kBody, kNone };
std::string_view to_string(
    Term term) noexcept;  // "host", "port", "scheme", "path", "method", "query", "body", "matches"

struct Miss {
  Term term = Term::kNone;
  std::string why;  // "port 8080 is not 80"; safe for a terminal; empty for kNone
  // Among misses by the same term: how near (labels of the host in common, segments of the path in common).
  std::size_t closeness = 0;
};

Miss why_not(const RuleTerms& terms, Action action, const Inquiry& inquiry);

}  // namespace sallyport::policy::review
