#include "policies/engine/path_rules.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

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

constexpr std::size_t kFew = 8;  // up to here trying each is faster

// A pattern from one of its segments on.
struct Rest {
  Entry entry;
  std::size_t from;
};
using Rests = std::vector<Rest>;
using Buckets = std::unordered_map<std::string_view, Rests>;

void try_all(const Rests& rests, std::span<const std::string_view> tokens, const Probe& probe, Found& found) {
  for (const Rest& rest : rests) {
    if (rest.entry.rule > found.match) return;
    if (rest.entry.pattern->matches_from(rest.from, tokens)) take(rest.entry, probe, found);
  }
}

// Patterns that go on with a mixed segment or an inner '**'.
class RestIndex {
 public:
  bool add(const Rest& rest) {
    auto segments = rest.entry.pattern->segments();
    std::string_view first = segments[rest.from], last = segments.back();
    if (first == PathPattern::kDeep) {
      // The last segment of a path is that of the pattern, whatever lies between.
      bool literal = !has_wildcard(last) && last != PathPattern::kDeepOrNone;
      return push(literal ? by_last_[last] : tried_, rest);
    }
    auto prefix = first.substr(0, first.find(PathPattern::kStar));
    if (!prefix.empty()) return push(by_prefix_[prefix], rest);
    auto suffix = first.substr(first.rfind(PathPattern::kStar) + 1);
    if (!suffix.empty()) return push(by_suffix_[suffix], rest);
    return push(tried_, rest);
  }

  void find(std::span<const std::string_view> tokens, const Probe& probe, Found& found) const {
    std::string_view token = tokens[0];
    for (std::size_t n = 1; n <= token.size() && !by_prefix_.empty(); ++n) look(by_prefix_, token.substr(0, n), tokens, probe, found);
    for (std::size_t n = 1; n <= token.size() && !by_suffix_.empty(); ++n)
      look(by_suffix_, token.substr(token.size() - n), tokens, probe, found);
    if (!by_last_.empty()) look(by_last_, tokens.back(), tokens, probe, found);
    try_all(tried_, tokens, probe, found);
  }

 private:
  static bool push(Rests& rests, const Rest& rest) {
    rests.push_back(rest);
    return rests.size() <= PathRules::kMaxTried;
  }
  static void look(const Buckets& buckets, std::string_view key, std::span<const std::string_view> tokens, const Probe& probe, Found& found) {
    if (auto bucket = buckets.find(key); bucket != buckets.end()) try_all(bucket->second, tokens, probe, found);
  }

  Buckets by_prefix_, by_suffix_, by_last_;
  Rests tried_;
};

struct Node {
  struct Child {
    std::string_view segment;  // of a pattern
    Node* node;
  };
  static constexpr std::size_t kFewChildren = 4;

  std::vector<Child> few;
  std::unique_ptr<std::unordered_map<std::string_view, Node*>> many;
  Node* star = nullptr;
  std::vector<Entry> here;          // the pattern ends here
  std::vector<Entry> deep;          // the pattern ends here in '**'
  std::unique_ptr<RestIndex> rest;  // the pattern goes on with what a trie cannot branch on

  Node* child(std::string_view segment) const {
    if (many) {
      auto found = many->find(segment);
      return found == many->end() ? nullptr : found->second;
    }
    for (const Child& each : few)
      if (each.segment == segment) return each.node;
    return nullptr;
  }

  void adopt(std::string_view segment, Node* node) {
    if (many) return void(many->emplace(segment, node));
    few.push_back({segment, node});
    if (few.size() <= kFewChildren) return;
    many = std::make_unique<std::unordered_map<std::string_view, Node*>>();
    for (const Child& each : few) many->emplace(each.segment, each.node);
    few = {};
  }

  void find(std::span<const std::string_view> tokens, const Probe& probe, Found& found) const {
    if (tokens.empty()) return take_all(here, probe, found);
    take_all(deep, probe, found);
    if (rest) rest->find(tokens, probe, found);
    if (const Node* next = child(tokens[0])) next->find(tokens.subspan(1), probe, found);
    if (star != nullptr && !tokens[0].empty() && tokens[0] != PathPattern::kDeep) star->find(tokens.subspan(1), probe, found);
  }
};

}  // namespace

struct PathRules::State {
  std::vector<Entry> entries;
  std::vector<Entry> everywhere;       // those for "/**"
  std::vector<Entry> first_by_method;  // of the others, those that bring a method which none before had
  MethodSet by_path;                   // all methods of first_by_method
  std::deque<Node> nodes;              // the first is the root; empty while there are few entries

  void note(const Entry& entry) {
    if (entry.pattern->is_everything()) return everywhere.push_back(entry);
    if (by_path.holds(entry.methods)) return;
    by_path.add(entry.methods);
    first_by_method.push_back(entry);
  }

  Node* make(Node& parent, std::string_view segment, bool is_star) {
    Node* known = is_star ? parent.star : parent.child(segment);
    if (known != nullptr) return known;
    Node* fresh = &nodes.emplace_back();
    if (is_star)
      parent.star = fresh;
    else
      parent.adopt(segment, fresh);
    return fresh;
  }

  bool insert(const Entry& entry) {
    auto segments = entry.pattern->segments();
    Node* node = &nodes.front();
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const std::string& segment = segments[i];
      bool is_star = segment.size() == 1 && segment[0] == PathPattern::kStar;
      bool is_last = i + 1 == segments.size();
      if (is_last && segment == PathPattern::kDeepOrNone) node->here.push_back(entry);
      if (is_last && (segment == PathPattern::kDeepOrNone || segment == PathPattern::kDeep)) {
        node->deep.push_back(entry);
        return true;
      }
      if (has_wildcard(segment) && !is_star) {
        if (!node->rest) node->rest = std::make_unique<RestIndex>();
        return node->rest->add({entry, i});
      }
      node = make(*node, segment, is_star);
    }
    node->here.push_back(entry);
    return true;
  }
};

PathRules::PathRules() = default;
PathRules::PathRules(PathRules&&) noexcept = default;
PathRules& PathRules::operator=(PathRules&&) noexcept = default;
PathRules::~PathRules() = default;

std::span<const Entry> PathRules::entries() const noexcept {
  return state_ ? std::span<const Entry>(state_->entries) : std::span<const Entry>();
}

bool PathRules::add(Entry entry) {
  if (!state_) state_ = std::make_unique<State>();
  State& state = *state_;
  state.entries.push_back(entry);
  state.note(entry);
  if (state.entries.size() <= kFew) return true;
  if (!state.nodes.empty()) return state.insert(entry);
  state.nodes.emplace_back();
  bool fits = true;
  for (const Entry& each : state.entries) fits = state.insert(each) && fits;
  return fits;
}

Found PathRules::find(const Probe& probe) const {
  Found found;
  if (!state_) return found;
  if (!state_->nodes.empty()) {
    state_->nodes.front().find(probe.tokens, probe, found);
    return found;
  }
  for (const Entry& entry : state_->entries) {
    if (!entry.pattern->matches(probe.tokens)) continue;
    take(entry, probe, found);
    if (found.match != kNoRuleIndex) break;
  }
  return found;
}

Found PathRules::find_everywhere(const Probe& probe) const {
  Found found;
  if (state_) take_all(state_->everywhere, probe, found);
  return found;
}

std::uint32_t PathRules::find_by_path(MethodSet methods) const noexcept {
  if (!state_) return kNoRuleIndex;
  for (const Entry& entry : state_->first_by_method)
    if (entry.methods.meets(methods)) return entry.rule;
  return kNoRuleIndex;
}

}  // namespace sallyport::policy
