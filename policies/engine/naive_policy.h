// For property tests: the language read a second time, as simply as it can be said, by trying every rule in turn.
// Shares nothing with the engine but the text of the rules.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport::policy::naive {

struct Rule {
  bool allow = true;
  std::string methods;  // "GET,HEAD" or empty
  std::string scheme;
  std::string host;  // with "*." if it is a wildcard
  int port = 0;
  std::string path;

  std::string text() const {
    std::string out = methods.empty() ? "" : methods + " ";
    out += scheme + "://" + host + ":" + std::to_string(port) + path;
    return out;
  }
};

inline std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

inline bool glob(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] != '*') return !text.empty() && pattern[0] == text[0] && glob(pattern.substr(1), text.substr(1));
  for (std::size_t n = 1; n <= text.size(); ++n)
    if (glob(pattern.substr(1), text.substr(n))) return true;
  return false;
}

inline bool segments_match(const std::vector<std::string>& p, std::size_t i, const std::vector<std::string>& s,
                           std::size_t j) {
  if (i == p.size()) return j == s.size();
  if (p[i] == "**") {
    for (std::size_t n = i + 1 == p.size() ? 1 : 0; j + n <= s.size(); ++n)
      if (segments_match(p, i + 1, s, j + n)) return true;
    return false;
  }
  return j < s.size() && glob(p[i], s[j]) && segments_match(p, i + 1, s, j + 1);
}

inline bool path_matches(std::string_view pattern, std::string_view path) {
  return segments_match(split(pattern.substr(1), '/'), 0, split(path.substr(1), '/'), 0);
}

inline bool host_matches(std::string_view pattern, std::string_view host) {
  if (!pattern.starts_with("*.")) return pattern == host;
  return host.size() > pattern.size() - 1 && host.ends_with(pattern.substr(1));
}

inline bool at(const Rule& rule, std::string_view host, int port) {
  return host_matches(rule.host, host) && rule.port == port;
}

inline bool request_matches(const Rule& rule, std::string_view method, std::string_view path) {
  auto methods = split(rule.methods, ',');
  bool method_fits = rule.methods.empty() || std::ranges::find(methods, method) != methods.end();
  if (method_fits && path_matches(rule.path, path)) return true;
  // A denial of "/a/**" also denies "/a".
  bool below = !rule.allow && rule.path.size() > 3 && rule.path.ends_with("/**");
  return method_fits && below && path_matches(rule.path.substr(0, rule.path.size() - 3), path);
}

inline bool whole(const Rule& rule) { return rule.scheme != "http" || (rule.methods.empty() && rule.path == "/**"); }

// The index of the allow rule that decides; nothing when denied.
inline std::optional<std::size_t> decide_http(const std::vector<Rule>& rules, std::string_view host, int port,
                                              std::string_view method, std::string_view path) {
  for (const Rule& rule : rules)
    if (!rule.allow && at(rule, host, port) && (rule.scheme != "http" || request_matches(rule, method, path)))
      return std::nullopt;
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (rules[i].allow && rules[i].scheme == "http" && at(rules[i], host, port) &&
        request_matches(rules[i], method, path))
      return i;
  return std::nullopt;
}

// The same for opaque connections.
inline std::optional<std::size_t> decide_tunnel(const std::vector<Rule>& rules, std::string_view host, int port) {
  for (const Rule& rule : rules)
    if (!rule.allow && at(rule, host, port)) return std::nullopt;
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (rules[i].allow && rules[i].scheme != "http" && at(rules[i], host, port)) return i;
  return std::nullopt;
}

}  // namespace sallyport::policy::naive
