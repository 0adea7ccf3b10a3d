#include "policies/engine/query_pattern.h"

#include <re2/re2.h>

#include <algorithm>

#include "policies/engine/percent.h"

namespace sallyport::policy {
namespace {

// What every server makes of this text, or nothing when they would not agree. '+' stays as it is.
std::optional<std::string> decoded_once(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (std::size_t at = 0; at < raw.size();) {
    int byte = static_cast<unsigned char>(raw[at]);
    if (raw[at] == '%') {
      byte = encoded_byte(raw, at);
      if (byte < 0) return std::nullopt;
      at += 3;
    } else {
      ++at;
    }
    if (byte < 0x20 || byte == 0x7f) return std::nullopt;
    out += static_cast<char>(byte);
  }
  if (!is_utf8(out)) return std::nullopt;
  for (auto at = out.find('%'); at != std::string::npos; at = out.find('%', at + 1))
    if (encoded_byte(out, at) >= 0) return std::nullopt;  // a server that decodes twice would read something else
  return out;
}

bool accepts_raw(const QueryKey& key, std::string_view raw) {
  auto value = decoded_once(raw);
  if (!value || !key.accepts(*value)) return false;
  if (raw.find('+') == std::string_view::npos) return true;
  std::string spaced(raw);
  std::ranges::replace(spaced, '+', ' ');
  value = decoded_once(spaced);
  return value && key.accepts(*value);
}

}  // namespace

bool QueryKey::accepts(std::string_view value) const {
  switch (kind) {
    case Kind::kOneOf:
      return std::ranges::find(values, value) != values.end();
    case Kind::kRegex:
      return compiled != nullptr && RE2::FullMatch(re2::StringPiece(value.data(), value.size()), *compiled);
    case Kind::kLength:
      return value.size() <= length;
  }
  return false;
}

bool QueryKey::covers(const QueryKey& other) const {
  if (name != other.name || (other.optional && !optional)) return false;
  if (other.kind == Kind::kOneOf)
    return std::ranges::all_of(other.values, [&](const std::string& value) { return accepts(value); });
  if (kind != other.kind) return false;
  return kind == Kind::kRegex ? regex == other.regex : other.length <= length;
}

bool QueryPattern::matches(std::string_view query) const {
  static_assert(kMaxKeys <= 32);
  std::uint32_t seen = 0;
  if (query.find(';') != std::string_view::npos) return false;
  while (!query.empty()) {
    auto end = query.find('&');
    auto pair = query.substr(0, end);
    auto equals = pair.find('=');
    auto raw_name = pair.substr(0, equals);
    if (raw_name.find('+') != std::string_view::npos) return false;
    auto name = decoded_once(raw_name);
    if (!name) return false;
    auto key = std::ranges::find(keys_, *name, &QueryKey::name);
    if (key == keys_.end()) return false;
    std::uint32_t bit = std::uint32_t{1} << (key - keys_.begin());
    if ((seen & bit) != 0) return false;
    seen |= bit;
    if (!accepts_raw(*key, equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1))) return false;
    if (end == std::string_view::npos) break;
    query.remove_prefix(end + 1);
    if (query.empty()) return false;  // "a=1&": a last pair without anything
  }
  for (std::size_t i = 0; i < keys_.size(); ++i)
    if (!keys_[i].optional && (seen >> i & 1) == 0) return false;
  return true;
}

bool QueryPattern::covers(const QueryPattern& other) const {
  auto named_in = [](const QueryPattern& pattern, const std::string& name) {
    return std::ranges::find(pattern.keys_, name, &QueryKey::name);
  };
  for (const QueryKey& key : other.keys_) {
    auto own = named_in(*this, key.name);
    if (own == keys_.end() || !own->covers(key)) return false;
  }
  return std::ranges::all_of(keys_, [&](const QueryKey& key) {
    return key.optional || named_in(other, key.name) != other.keys_.end();
  });
}

}  // namespace sallyport::policy
