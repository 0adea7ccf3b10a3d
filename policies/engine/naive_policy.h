// For property tests: the language read a second time, as simply as it can be said, by trying every rule in turn.
// Shares nothing with the engine but the text of the rules.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport::policy::naive {

struct QueryKey {
  std::string name;
  std::vector<std::string> values;
  bool optional = false;
};

struct Rule {
  bool allow = true;
  std::string methods;  // "GET,HEAD" or empty
  std::string scheme;
  std::string host;  // with "*." if it is a wildcard
  int port = 0;
  std::string path;
  std::optional<std::vector<QueryKey>> query = {};  // of http allow rules
  std::vector<std::string> types = {};

  // As an entry of `rules:`.
  std::string entry() const {
    std::string out = std::string("{") + (allow ? "allow" : "deny") + ": '" + text() + "'";
    if (query && query->empty()) out += ", query: none";
    if (query && !query->empty()) {
      out += ", query: {";
      for (const auto& key : *query) {
        out += key.name + ": {one_of: [";
        for (const auto& value : key.values) out += value + ", ";
        out += key.optional ? "], optional: true}, " : "]}, ";
      }
      out += "}";
    }
    if (!types.empty()) out += ", content_type: [" + types[0] + (types.size() > 1 ? ", " + types[1] : "") + "]";
    return out + "}";
  }

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

// One decoding of "%XX"; the words of the tests have no other trouble.
inline std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%')
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16)), i += 2;
    else
      out += text[i];
  }
  return out;
}

inline bool query_matches(const std::vector<QueryKey>& keys, std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  if (!query.empty())
    for (const auto& pair : split(query, '&')) {
      auto equals = std::min(pair.find('='), pair.size());
      pairs.emplace_back(decoded(pair.substr(0, equals)), equals < pair.size() ? decoded(pair.substr(equals + 1)) : "");
    }
  std::size_t known = 0;
  for (const auto& key : keys) {
    std::size_t times = 0;
    for (const auto& [name, value] : pairs) {
      if (name != key.name) continue;
      ++times;
      if (std::ranges::find(key.values, value) == key.values.end()) return false;
    }
    if (times > 1 || (times == 0 && !key.optional)) return false;
    known += times;
  }
  return known == pairs.size();
}

struct Request {
  std::string host, method, path, query, type;  // an empty type: no body
  int port = 80;
};

inline bool terms_match(const Rule& rule, const Request& request) {
  if (rule.query && !query_matches(*rule.query, request.query)) return false;
  return rule.types.empty() || request.type.empty() || std::ranges::find(rule.types, request.type) != rule.types.end();
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
inline std::optional<std::size_t> decide_http(const std::vector<Rule>& rules, const Request& r) {
  for (const Rule& rule : rules)
    if (!rule.allow && at(rule, r.host, r.port) && (rule.scheme != "http" || request_matches(rule, r.method, r.path)))
      return std::nullopt;
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (rules[i].allow && rules[i].scheme == "http" && at(rules[i], r.host, r.port) &&
        request_matches(rules[i], r.method, r.path) && terms_match(rules[i], r))
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

// Whether a ceiling lets through what a policy within it allows.
inline bool lets_request(const std::vector<Rule>& ceiling, const Request& r) {
  if (decide_http(ceiling, r)) return true;
  auto tunnel = decide_tunnel(ceiling, r.host, r.port);
  return tunnel && ceiling[*tunnel].scheme == "tcp";
}

inline bool lets_tunnel(const std::vector<Rule>& ceiling, const Rule& rule, std::string_view host, int port) {
  auto tunnel = decide_tunnel(ceiling, host, port);
  return tunnel && (ceiling[*tunnel].scheme == "tcp" || ceiling[*tunnel].scheme == rule.scheme);
}

}  // namespace sallyport::policy::naive
