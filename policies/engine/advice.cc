#include "policies/engine/advice.h"

#include <algorithm>
#include <cstdio>

#include "policies/engine/decide.h"
#include "policies/engine/load.h"
#include "policies/engine/method.h"
#include "policies/engine/percent.h"

namespace sallyport::policy {
namespace {

std::string in_rule(const Target& target) {
  bool v6 = target.address() != nullptr && !target.address()->is_v4();
  return v6 ? "[" + target.text() + "]" : target.text();
}

// A destination is offered only if the loader takes it. At the end of a plain value a colon would begin a map.
std::optional<std::string> checked(const std::string& destination) {
  std::string line = destination.ends_with(':') ? "- allow: \"" + destination + "\"" : "- allow: " + destination;
  if (!load("policy: advice/1\nrules:\n" + line + "\n", "advice").policy) return std::nullopt;
  return line;
}

// In quotes that hold it in a map in braces; what is not printable ASCII is escaped. Nothing for what is not UTF-8.
std::optional<std::string> in_quotes(std::string_view text) {
  std::string out;
  if (std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; })) {
    for (char c : text) out += c == '\'' ? "''" : std::string(1, c);
    return "'" + out + "'";
  }
  for (std::size_t at = 0; at < text.size();) {
    char32_t scalar = 0;
    auto length = utf8_sequence(text, at, scalar);
    if (length == 0) return std::nullopt;
    char escaped[12];
    std::snprintf(escaped, sizeof escaped, "\\U%08X", static_cast<unsigned>(scalar));
    if (scalar >= 0x20 && scalar < 0x7f && scalar != '"' && scalar != '\\')
      out += text[at];
    else
      out += escaped;
    at += length;
  }
  return "\"" + out + "\"";
}

bool is_word(std::string_view text) {
  auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && is_letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

// "{page: '2', q: {one_of: ['a+b', 'a b']}}": a '+' is matched as both that it may mean.
std::optional<std::string> query_text(std::string_view query) {
  if (query.empty()) return "none";
  std::string out;
  while (true) {
    auto end = query.find('&');
    auto pair = query.substr(0, end);
    auto equals = pair.find('=');
    std::string raw(equals == pair.npos ? std::string_view() : pair.substr(equals + 1));
    auto name = percent_decoded(pair.substr(0, equals));
    auto key = is_word(name) ? name : in_quotes(name);
    auto value = in_quotes(percent_decoded(raw));
    bool plus = raw.find('+') != raw.npos;
    std::ranges::replace(raw, '+', ' ');
    auto spaced = in_quotes(percent_decoded(raw));
    if (!key || !value || !spaced) return std::nullopt;
    out += (out.empty() ? "" : ", ") + *key + ": " + (plus ? "{one_of: [" + *value + ", " + *spaced + "]}" : *value);
    if (end == query.npos) return "{" + out + "}";
    query.remove_prefix(end + 1);
  }
}

std::optional<std::string> bounded(const HttpRequest& request, const std::string& destination,
                                   const RequestBounds& bounds) {
  bool plain = destination.find_first_of(",'[]{}") == destination.npos && !destination.ends_with(':');
  std::string line = "- {allow: " + (plain ? destination : in_quotes(destination).value_or(""));
  if (bounds.query) {
    auto query = query_text(request.query);
    if (!query) return std::nullopt;
    line += ", query: " + *query;
  }
  std::string types;
  for (const auto& type : bounds.content_types) {
    // A media type may hold characters that begin something else in YAML.
    bool simple = type.find_first_of("!#$%&'*^`|~") == type.npos;
    types += (types.empty() ? "" : ", ") + (simple ? type : in_quotes(type).value_or("''"));
  }
  if (bounds.content_types.size() > 1) types = "[" + types + "]";
  if (!types.empty()) line += ", content_type: " + types;
  line += "}";
  // A query may say what no rule can: a key twice, or what servers read in different ways.
  auto loaded = load("policy: advice/1\nrules:\n" + line + "\n", "advice");
  if (!loaded.policy || !decide_http(*loaded.policy, request).allowed()) return std::nullopt;
  return line;
}

}  // namespace

std::optional<std::string> rule_for(const ConnectionRequest& request) {
  std::string host = in_rule(request.target), port = ":" + std::to_string(request.port.value());
  if (request.target.is_literal()) return checked("tcp://" + host + port);
  if (request.port == Port::of(80)) return checked("http://" + host + "/**");
  return checked("tls://" + host + (request.port == Port::of(443) ? "" : port));
}

std::optional<std::string> rule_for(const HttpRequest& request, const RequestBounds& bounds) {
  if (!MethodSet::of(request.method)) return std::nullopt;
  std::string port = request.port == Port::of(80) ? "" : ":" + std::to_string(request.port.value());
  // A star in a request is an ordinary character; in a rule only its encoded form could stand for itself, and means
  // another path.
  if (request.path.text().find('*') != std::string_view::npos) return std::nullopt;
  std::string path = request.path.ambiguous() ? "/**" : std::string(request.path.text());
  std::string destination = std::string(request.method) + " http://" + in_rule(request.target) + port + path;
  if (bounds.query || !bounds.content_types.empty()) return bounded(request, destination, bounds);
  return checked(destination);
}

}  // namespace sallyport::policy
