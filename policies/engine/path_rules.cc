#include "policies/engine/path_rules.h"

#include <algorithm>
#include <unordered_map>

#include "policies/engine/text_hash.h"

namespace sallyport::policy {

using Entry = PathRules::Entry;
using Found = PathRules::Found;
using Probe = PathRules::Probe;

namespace {

void keep_first(std::uint32_t& slot, std::uint32_t rule) noexcept { slot = std::min(slot, rule); }

// Of an entry whose path fits.
void take(const Entry& entry, const Probe& probe, Found& found) {
  keep_first(found.path_only, entry.rule);
  if (!entry.methods.holds(probe.methods)) return;
  if (entry.request != nullptr) {
    if (probe.cover != nullptr) {
      if (!entry.request->covers(*probe.cover)) return;
    } else if (probe.body == nullptr) {
      return;
    } else if (!entry.request->accepts_query(probe.query)) {
      return keep_first(found.but_query, entry.rule);
    } else if (!entry.request->accepts_body(*probe.body)) {
      return keep_first(found.but_body, entry.rule);
    }
  }
  keep_first(found.match, entry.rule);
}

// Entries are in ascending order: nothing after the first match can come before it.
void take_all(std::span<const Entry> entries, const Probe& probe, Found& found) {
  for (const Entry& entry : entries) {
    if (entry.rule > found.match) return;
    take(entry, probe, found);
  }
}

}  // namespace

struct PathRules::Node {
  struct Rest {
    Entry entry;
    std::size_t from;
  };
  TextMap<std::unique_ptr<Node>> literal;
  std::unique_ptr<Node> star;
  std::vector<Entry> here;  // the pattern ends here
  std::vector<Entry> deep;  // the pattern ends here in '**'
  std::vector<Rest> rest;   // the pattern goes on with what a trie cannot branch on

  void find(std::span<const std::string_view> tokens, const Probe& probe, Found& found) const {
    if (tokens.empty()) return take_all(here, probe, found);
    take_all(deep, probe, found);
    for (const Rest& r : rest) {
      if (r.entry.rule > found.match) break;
      if (r.entry.pattern->matches_from(r.from, tokens)) take(r.entry, probe, found);
    }
    if (auto next = literal.find(tokens[0]); next != literal.end())
      next->second->find(tokens.subspan(1), probe, found);
    if (star && !tokens[0].empty() && tokens[0] != PathPattern::kDeep) star->find(tokens.subspan(1), probe, found);
  }
};

PathRules::PathRules() = default;
PathRules::PathRules(PathRules&&) noexcept = default;
PathRules& PathRules::operator=(PathRules&&) noexcept = default;
PathRules::~PathRules() = default;

void PathRules::insert(Node& root, const Entry& entry) {
  auto segments = entry.pattern->segments();
  Node* node = &root;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::string& segment = segments[i];
    bool is_star = segment.size() == 1 && segment[0] == PathPattern::kStar;
    bool is_last = i + 1 == segments.size();
    if (is_last && segment == PathPattern::kDeepOrNone) node->here.push_back(entry);
    if (is_last && (segment == PathPattern::kDeepOrNone || segment == PathPattern::kDeep))
      return node->deep.push_back(entry);
    if (has_wildcard(segment) && !is_star) return node->rest.push_back({entry, i});
    auto& next = is_star ? node->star : node->literal[segment];
    if (!next) next = std::make_unique<Node>();
    node = next.get();
  }
  node->here.push_back(entry);
}

void PathRules::note(const Entry& entry) {
  if (entry.pattern->is_everything()) return everywhere_.push_back(entry);
  if (by_path_.holds(entry.methods)) return;
  by_path_.add(entry.methods);
  first_by_method_.push_back(entry);
}

void PathRules::add(Entry entry) {
  entries_.push_back(entry);
  note(entry);
  if (entries_.size() <= kFew) return;
  if (root_) return insert(*root_, entry);
  root_ = std::make_unique<Node>();
  for (const Entry& each : entries_) insert(*root_, each);
}

Found PathRules::find(const Probe& probe) const {
  Found found;
  if (root_) {
    root_->find(probe.tokens, probe, found);
    return found;
  }
  for (const Entry& entry : entries_) {
    if (!entry.pattern->matches(probe.tokens)) continue;
    take(entry, probe, found);
    if (found.match != kNoRuleIndex) break;
  }
  return found;
}

Found PathRules::find_everywhere(const Probe& probe) const {
  Found found;
  take_all(everywhere_, probe, found);
  return found;
}

std::uint32_t PathRules::find_by_path(MethodSet methods) const noexcept {
  for (const Entry& entry : first_by_method_)
    if (entry.methods.meets(methods)) return entry.rule;
  return kNoRuleIndex;
}

}  // namespace sallyport::policy
