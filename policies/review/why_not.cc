#include "policies/review/why_not.h"

#include <algorithm>

#include "core/base/escape.h"

namespace sallyport::policy::review {
namespace {

using Kind = Inquiry::Kind;

std::size_t labels_in_common(std::string_view a, std::string_view b) {
  std::size_t common = 0, i = 0;
  while (i < a.size() && i < b.size() && a[a.size() - 1 - i] == b[b.size() - 1 - i]) {
    ++i;
    bool a_ends = i == a.size() || a[a.size() - 1 - i] == '.', b_ends = i == b.size() || b[b.size() - 1 - i] == '.';
    if (a_ends && b_ends) ++common;
  }
  return common;
}

Miss host_miss(const HostPattern& host, const Target& target) {
  Miss miss{Term::kHost, "host " + target.text(), labels_in_common(host.target().text(), target.text())};
  if (host.is_wildcard() && host.target() == target)
    miss.why += " is the name itself, and " + host.text() + " is only what lies below it";
  else if (host.is_wildcard())
    miss.why += " is not below " + host.target().text();
  else
    miss.why += " is not " + host.target().text();
  return miss;
}

// Readable pattern text: the engine's tokens written as the file writes them.
std::string pattern_text(const PathPattern& pattern) {
  std::string out;
  for (std::string segment : pattern.segments()) {
    if (segment == PathPattern::kDeep || segment == PathPattern::kDeepOrNone) segment = "**";
    std::ranges::replace(segment, PathPattern::kStar, '*');
    out += "/" + segment;
  }
  return escape_text(out, 200);
}

bool path_matches(const RuleTerms& terms, Action action, const CanonicalPath& path, std::size_t& common) {
  std::string loose = loosened(path.text());
  PathTokens tokens;
  split_path(action == Action::kDeny ? std::string_view(loose) : path.text(), tokens);
  const PathPattern& pattern = action == Action::kDeny && terms.loose_path ? *terms.loose_path : *terms.path;
  auto segments = pattern.segments();
  common = 0;
  while (common < segments.size() && common < tokens.size() && segment_matches(segments[common], tokens[common]))
    ++common;
  if (path.ambiguous() && !pattern.is_everything()) return action == Action::kDeny;
  return pattern.matches(tokens);
}

Miss path_miss(const RuleTerms& terms, const CanonicalPath& path, std::size_t common) {
  Miss miss{Term::kPath, {}, common};
  if (path.ambiguous())
    miss.why =
        "the path has ';' or '%25' before two digits, which servers read in different ways, and this rule looks at "
        "paths";
  else
    miss.why = "path " + escape_text(path.text(), 120) + " does not match " + pattern_text(*terms.path);
  return miss;
}

Miss request_miss(const RuleTerms& terms, const Inquiry& inquiry, std::size_t common) {
  if (terms.request == nullptr) return {};
  if (!terms.request->accepts_query(inquiry.request->query))
    return {Term::kQuery,
            inquiry.request->query.empty()
                ? "there is no query, and this rule asks for one"
                : "query " + escape_text(inquiry.request->query, 120) + " is not one that this rule takes",
            common};
  ContentType body;
  body.set_body(!inquiry.content_type.empty());
  if (!inquiry.content_type.empty()) body.see("content-type", inquiry.content_type);
  if (terms.request->accepts_body(body)) return {};
  std::string types;
  for (const auto& type : terms.request->content_types) types += (types.empty() ? "" : " or ") + type;
  return {Term::kBody, "a body of " + escape_text(inquiry.content_type, 80) + " is not " + types, common};
}

}  // namespace

std::string_view to_string(Term term) noexcept {
  switch (term) {
    case Term::kHost:
      return "host";
    case Term::kPort:
      return "port";
    case Term::kScheme:
      return "scheme";
    case Term::kPath:
      return "path";
    case Term::kMethod:
      return "method";
    case Term::kQuery:
      return "query";
    case Term::kBody:
      return "body";
    case Term::kNone:
      break;
  }
  return "matches";
}

Miss why_not(const RuleTerms& terms, Action action, const Inquiry& inquiry) {
  if (!terms.host.matches(inquiry.target)) return host_miss(terms.host, inquiry.target);
  if (inquiry.kind == Kind::kName || inquiry.kind == Kind::kRecord) return {};
  if (terms.port != inquiry.port)
    return {Term::kPort,
            "port " + std::to_string(inquiry.port.value()) + " is not " + std::to_string(terms.port.value())};
  if (action == Action::kDeny && terms.is_whole()) return {};
  bool wants_http = inquiry.kind == Kind::kHttp;
  if (terms.is_opaque()) {
    if (wants_http && action == Action::kAllow)
      return {Term::kScheme, "it is an opaque tunnel, and this is a request that is read"};
    if (inquiry.kind == Kind::kTcp && terms.scheme == Scheme::kTls)
      return {Term::kScheme, "it carries TLS only, and tcp:// is anything"};
    return {};
  }
  if (inquiry.kind == Kind::kConnect) return {};
  if (!wants_http)
    return {Term::kScheme, action == Action::kAllow ? "it reads requests in clear HTTP, and this is a tunnel"
                                                    : "it looks at methods or paths, and this is a tunnel"};
  std::size_t common = 0;
  if (!path_matches(terms, action, inquiry.request->path, common))
    return path_miss(terms, inquiry.request->path, common);
  auto method = MethodSet::of(inquiry.method);
  bool overriding = false;
  if (!inquiry.override.empty())
    if (auto other = MethodSet::of(inquiry.override))
      overriding = action == Action::kDeny && terms.methods.holds(*other);
  if (!overriding && (!method || !terms.methods.holds(*method)))
    return {Term::kMethod,
            "method " + escape_text(inquiry.method, 32) + " is not " + escape_text(terms.methods.text(), 100), common};
  return request_miss(terms, inquiry, common);
}

}  // namespace sallyport::policy::review
