#include "policies/review/path_alphabet.h"

#include <map>
#include <tuple>

namespace sallyport::policy::review {
namespace {

constexpr std::uint8_t kEncodedPercent = 0x04;  // see loosened() of policies/engine/path_pattern.h

bool is_unreserved(std::uint8_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

bool stands_raw(std::uint8_t c) {
  return is_unreserved(c) ||
         (c > 0x20 && c < 0x7f &&
          std::string_view("\"<>[]^`{|}\\#?%/").find(static_cast<char>(c)) == std::string_view::npos);
}

bool stands_encoded(std::uint8_t c) { return c >= 0x20 && c < 0x7f && !is_unreserved(c) && c != '/' && c != '\\'; }

bool is_hex(std::uint8_t c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

PathUnit encoded(std::uint8_t byte) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  return {{'%', kHex[byte >> 4], kHex[byte & 15]}, byte == '%' ? kEncodedPercent : byte};
}

int hex_of(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
}

// Pleasant ones first: the first of a kind stands for it.
std::vector<PathUnit> all_units() {
  std::vector<PathUnit> out;
  for (std::string_view c :
       {"x", "y", "z", "w", "v", "u", "t", "s", "r", "q", "p", "o", "n", "m", "l", "k", "j", "i", "h", "g"})
    out.push_back({std::string(c), static_cast<std::uint8_t>(c[0])});
  for (int c = 0x20; c < 0x7f; ++c)
    if (stands_raw(static_cast<std::uint8_t>(c)) && (c < 'g' || c > 'z'))
      out.push_back({std::string(1, static_cast<char>(c)), static_cast<std::uint8_t>(c)});
  for (int c = 0x20; c < 0x7f; ++c)
    if (stands_encoded(static_cast<std::uint8_t>(c))) out.push_back(encoded(static_cast<std::uint8_t>(c)));
  return out;
}

// The characters beyond ASCII in a text, which is UTF-8 (patterns are checked).
void collect_beyond(std::string_view bytes, std::set<std::string>& out) {
  for (std::size_t i = 0; i < bytes.size();) {
    auto lead = static_cast<std::uint8_t>(bytes[i]);
    std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead >= 0x80) out.emplace(bytes.substr(i, length));
    i += length;
  }
}

}  // namespace

std::string_view first_unit(std::string_view text) noexcept { return text.substr(0, text[0] == '%' ? 3 : 1); }

void PathAlphabet::mention_exact(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    auto unit = first_unit(text);
    exact_.emplace(unit);
    bytes += unit.size() == 3 ? static_cast<char>(hex_of(unit[1]) * 16 + hex_of(unit[2])) : unit[0];
    text.remove_prefix(unit.size());
  }
  collect_beyond(bytes, beyond_ascii_);
}

void PathAlphabet::mention_loose(std::string_view text) {
  for (char c : text) loose_[static_cast<std::uint8_t>(c)] = true;
  collect_beyond(text, beyond_ascii_);
}

std::vector<PathLetter> PathAlphabet::letters() const {
  bool percent_matters = exact_.contains("%25") || loose_[kEncodedPercent];
  using Kind = std::tuple<std::string, int, bool, bool, bool, bool>;
  std::map<Kind, bool> seen;
  std::vector<PathLetter> out;
  for (PathUnit& unit : all_units()) {
    PathLetter letter;
    letter.dot = unit.raw == ".";
    letter.ambiguous = unit.loose == ';';
    letter.percent = unit.raw == "%25";
    letter.hex = unit.raw.size() == 1 && is_hex(unit.loose);
    // Where no pattern names "%25", what it makes ambiguous is of one kind with what ';' makes ambiguous.
    if (!percent_matters && letter.percent) continue;
    Kind kind{exact_.contains(unit.raw) ? unit.raw : "",
              loose_[unit.loose] ? unit.loose : -1,
              letter.dot,
              letter.ambiguous,
              letter.percent,
              percent_matters && letter.hex};
    if (!seen.emplace(kind, true).second) continue;
    letter.units.push_back(std::move(unit));
    out.push_back(std::move(letter));
  }
  for (const std::string& character : beyond_ascii_) {
    PathLetter letter;
    for (char byte : character) letter.units.push_back(encoded(static_cast<std::uint8_t>(byte)));
    out.push_back(std::move(letter));
  }
  return out;
}

}  // namespace sallyport::policy::review
