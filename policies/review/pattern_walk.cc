#include "policies/review/pattern_walk.h"

#include <algorithm>

namespace sallyport::policy::review {

void PatternWalk::add(const PathPattern& pattern, bool exact, PathAlphabet& alphabet) {
  first_.push_back(static_cast<std::uint32_t>(items_.size()));
  auto segments = pattern.segments();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    bool last = i + 1 == segments.size();
    bool deep = segments[i] == PathPattern::kDeep, deep_or_none = segments[i] == PathPattern::kDeepOrNone;
    if (!deep && !deep_or_none) {
      add_segment(segments[i], exact, alphabet);
      continue;
    }
    items_.push_back({deep && last ? Item::Kind::kDeepSome : Item::Kind::kDeepAny});
    items_.push_back({Item::Kind::kInDeep});
  }
  items_.push_back({Item::Kind::kEnd, 0, static_cast<std::uint32_t>(first_.size() - 1)});
}

void PatternWalk::add_segment(std::string_view segment, bool exact, PathAlphabet& alphabet) {
  items_.push_back({Item::Kind::kSlash});
  while (!segment.empty()) {
    if (segment[0] == PathPattern::kStar) {
      items_.push_back({Item::Kind::kStar});
      segment.remove_prefix(1);
      continue;
    }
    auto text = segment.substr(0, segment.find(PathPattern::kStar));
    exact ? alphabet.mention_exact(text) : alphabet.mention_loose(text);
    segment.remove_prefix(text.size());
    while (!text.empty()) {
      auto unit = exact ? first_unit(text) : text.substr(0, 1);
      items_.push_back(
          {exact ? Item::Kind::kExact : Item::Kind::kLoose, static_cast<std::uint8_t>(unit[0]), 0, std::string(unit)});
      text.remove_prefix(unit.size());
    }
  }
}

// A place, and those that are reached from it without reading anything.
void PatternWalk::put(Places& to, std::uint32_t place) const {
  to.push_back(place);
  if (items_[place].kind == Item::Kind::kInDeep) put(to, place + 1);
  if (items_[place].kind == Item::Kind::kDeepAny) put(to, place + 2);
}

PatternWalk::Places PatternWalk::settled(Places places) {
  std::ranges::sort(places);
  auto doubles = std::ranges::unique(places);
  places.erase(doubles.begin(), doubles.end());
  return places;
}

PatternWalk::Places PatternWalk::start() const {
  Places out;
  for (auto first : first_) put(out, first);
  return settled(std::move(out));
}

PatternWalk::Places PatternWalk::step_slash(const Places& from) const {
  Places out;
  for (auto place : from) {
    auto kind = items_[place].kind;
    if (kind == Item::Kind::kSlash || kind == Item::Kind::kDeepAny || kind == Item::Kind::kDeepSome)
      put(out, place + 1);
    if (kind == Item::Kind::kInDeep) put(out, place);
  }
  return settled(std::move(out));
}

PatternWalk::Places PatternWalk::step(const Places& from, const PathUnit& unit) const {
  Places out;
  for (auto place : from) {
    const Item& item = items_[place];
    switch (item.kind) {
      case Item::Kind::kExact:
        if (item.text == unit.raw) put(out, place + 1);
        break;
      case Item::Kind::kLoose:
        if (item.byte == unit.loose) put(out, place + 1);
        break;
      case Item::Kind::kStar:
        put(out, place);
        put(out, place + 1);
        break;
      case Item::Kind::kInDeep:
        put(out, place);
        break;
      default:
        break;
    }
  }
  return settled(std::move(out));
}

std::vector<std::uint32_t> PatternWalk::matching(const Places& at) const {
  std::vector<std::uint32_t> out;
  for (auto place : at)
    if (items_[place].kind == Item::Kind::kEnd) out.push_back(items_[place].pattern);
  return out;
}

}  // namespace sallyport::policy::review
