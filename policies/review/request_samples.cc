#include "policies/review/request_samples.h"

#include <algorithm>
#include <set>

#include "policies/engine/percent.h"

namespace sallyport::policy::review {
namespace {

constexpr std::size_t kMostQueries = 200;

std::string encoded(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (is_unreserved(c))
      out += c;
    else
      append_encoded(out, static_cast<unsigned char>(c));
  }
  return out;
}

std::vector<std::string> values_of(const QueryKey& key) {
  switch (key.kind) {
    case QueryKey::Kind::kOneOf:
      return key.values;
    case QueryKey::Kind::kLength:
      return {std::string(key.length, 'x'), "x", ""};
    case QueryKey::Kind::kRegex:
      break;
  }
  std::vector<std::string> out;
  for (std::string_view guess :
       {"1", "12", "1234", "a", "abc", "A", "x-1", "2024-01-01", "true", "0123456789abcdef", ""})
    if (key.accepts(guess)) out.emplace_back(guess);
  return out;
}

void append(std::string& query, const std::string& name, const std::string& value) {
  if (!query.empty()) query += '&';
  query += encoded(name) + "=" + encoded(value);
}

void sample(const QueryPattern& pattern, std::set<std::string>& out) {
  std::string least, most;
  for (const QueryKey& key : pattern.keys()) {
    auto values = values_of(key);
    if (values.empty()) continue;
    append(most, key.name, values.front());
    if (!key.optional) append(least, key.name, values.front());
  }
  out.insert(least);
  out.insert(most);
  // Each value of each key, beside the least that the others need.
  for (const QueryKey& key : pattern.keys()) {
    std::string others;
    for (const QueryKey& other : pattern.keys()) {
      if (&other == &key || other.optional) continue;
      if (auto values = values_of(other); !values.empty()) append(others, other.name, values.front());
    }
    if (!key.optional) out.insert(others);
    auto values = values_of(key);
    if (key.kind == QueryKey::Kind::kLength) values.push_back(std::string(key.length + 1, 'x'));
    values.push_back("zzz");
    for (const auto& value : values) {
      std::string query = others;
      append(query, key.name, value);
      out.insert(std::move(query));
    }
  }
}

bool disjoint_queries(const QueryPattern& a, const QueryPattern& b) {
  for (const QueryKey& key : a.keys()) {
    auto other = std::ranges::find(b.keys(), key.name, &QueryKey::name);
    if (other == b.keys().end()) {
      if (!key.optional) return true;  // needed here, not taken there
      continue;
    }
    if (key.optional && other->optional) continue;
    if (key.kind == QueryKey::Kind::kOneOf &&
        std::ranges::none_of(key.values, [&](const auto& v) { return other->accepts(v); }))
      return true;
    if (other->kind == QueryKey::Kind::kOneOf &&
        std::ranges::none_of(other->values, [&](const auto& v) { return key.accepts(v); }))
      return true;
  }
  return std::ranges::any_of(b.keys(), [&](const QueryKey& key) {
    return !key.optional && std::ranges::find(a.keys(), key.name, &QueryKey::name) == a.keys().end();
  });
}

}  // namespace

std::vector<std::string> sample_queries(const std::vector<const RuleTerms*>& rules) {
  std::set<std::string> out{"", "zzz=1"};
  for (const RuleTerms* terms : rules)
    if (terms->request != nullptr && terms->request->query && out.size() < kMostQueries)
      sample(*terms->request->query, out);
  return {out.begin(), out.end()};
}

std::vector<std::string> sample_bodies(const std::vector<const RuleTerms*>& rules) {
  std::set<std::string> types;
  for (const RuleTerms* terms : rules)
    if (terms->request != nullptr)
      types.insert(terms->request->content_types.begin(), terms->request->content_types.end());
  if (types.empty()) return {""};
  std::string other = "application/x-other";
  while (types.contains(other)) other += "-1";
  types.insert(other);
  types.insert("");
  return {types.begin(), types.end()};
}

std::vector<HostView::Entry> allowing(const HostView& view, bool of_ceiling, const CanonicalPath& path,
                                      std::string_view method) {
  std::vector<HostView::Entry> out;
  auto set = MethodSet::of(method);
  if (!set) return out;
  PathTokens tokens;
  split_path(path.text(), tokens);
  for (std::size_t i = of_ceiling ? view.own : 0; i < (of_ceiling ? view.rules.size() : view.own); ++i) {
    const auto& [rule, terms] = view.rules[i];
    if (rule->action != Action::kAllow || terms->is_opaque() || !terms->methods.holds(*set)) continue;
    bool fits = path.ambiguous() ? terms->path->is_everything() : terms->path->matches(tokens);
    if (fits) out.push_back(view.rules[i]);
  }
  return out;
}

bool are_disjoint(const RequestTerms* a, const RequestTerms* b) {
  if (a == nullptr || b == nullptr) return false;
  return a->query && b->query && disjoint_queries(*a->query, *b->query);
}

bool does_cover(const RequestTerms* outer, const RequestTerms* inner) {
  static const RequestTerms kAny;
  if (outer == nullptr) return true;
  return outer->covers(inner == nullptr ? kAny : *inner);
}

}  // namespace sallyport::policy::review
