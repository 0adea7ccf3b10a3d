// Any bytes as a request target: what is accepted is canonical, stays so, and holds nothing that a server could read in
// another way.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "policies/engine/path.h"
#include "policies/engine/path_pattern.h"
#include "policies/engine/query_pattern.h"

using namespace sallyport::policy;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check_target(std::string_view text) {
  auto target = CanonicalTarget::parse(text);
  if (!target) return;
  std::string wire = target.value().wire();
  for (char c : wire) require(c > 0x20 && c < 0x7f && c != '#');
  require(target.value().path.text().find('\\') == std::string_view::npos);
  require(!wire.empty() || !text.empty());
  auto again = CanonicalTarget::parse(wire);
  require(again.has_value() && again.value().wire() == wire);
  require(again.value().path.ambiguous() == target.value().path.ambiguous());
  std::string slashed = std::string(target.value().path.text()) + "/";
  for (std::string_view bad : {"/../", "/./", "//"})
    require(slashed.substr(0, slashed.size() - 1).find(bad) == std::string::npos);
  require(!slashed.ends_with("/../") && !slashed.ends_with("/./"));
  PathTokens tokens;
  split_path(target.value().path.text(), tokens);
  require(PathPattern::parse("/**").value().matches(tokens));
}

void check_pattern(std::string_view text, std::string_view path) {
  auto pattern = PathPattern::parse(text);
  auto canonical = CanonicalPath::parse(path);
  if (!pattern || !canonical) return;
  require(pattern.value().covers(pattern.value()));
  PathTokens tokens;
  split_path(canonical.value().text(), tokens);
  bool matches = pattern.value().matches(tokens);
  // What matches strictly also matches in the loose form that denials are compared in.
  std::string loose = loosened(canonical.value().text());
  PathTokens loose_tokens;
  split_path(loose, loose_tokens);
  if (matches) require(pattern.value().loosened().matches(loose_tokens));
}

// What matches has the named keys and no others, each once, and nothing that would split it in another way.
void check_query(std::string_view text) {
  static const QueryPattern kPattern({{"a", true, QueryKey::Kind::kOneOf, {"1", "2"}, {}, 0, nullptr},
                                      {"q", true, QueryKey::Kind::kLength, {}, {}, 10, nullptr}});
  if (!kPattern.matches(text)) return;
  require(std::count(text.begin(), text.end(), '&') <= 1);
  require(text.find(';') == std::string_view::npos);
  for (char c : text) require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  check_target(text);
  check_query(text);
  auto line = text.find('\n');
  if (line != std::string_view::npos) check_pattern(text.substr(0, line), text.substr(line + 1));
  return 0;
}
