#include "policies/engine/destination_reader.h"

#include <algorithm>
#include <array>

#include "policies/engine/did_you_mean.h"
#include "policies/engine/host_reader.h"
#include "policies/engine/method_reader.h"
#include "policies/engine/port_reader.h"

namespace sallyport::policy {
namespace {

using Text = std::string_view;
constexpr std::array kNotYet{Text("https"), Text("wss"), Text("ws"), Text("grpc")};
constexpr std::array kAllSchemes{Text("http"), Text("tls"), Text("tcp"), Text("https"),
                                 Text("wss"),  Text("ws"),  Text("grpc")};

// "GET,HEAD http://host:port/path" in its parts; none is checked yet.
struct Parts {
  Text methods;  // empty: none written
  Text scheme;
  Text authority;
  Text path;  // from the '/', empty: none written
  Text whole;
};

class DestinationReading {
 public:
  DestinationReading(Action action, const YamlNode& node, Text task, Reporter& reporter)
      : action_(action), node_(node), task_(task), reporter_(reporter) {}

  std::optional<RuleTerms> read() {
    if (!node_.is_scalar() || node_.is_empty()) {
      bool list = node_.is_list();
      return refuse(
          list ? "a rule is about one destination, not a list of them" : "a rule needs a destination",
          list ? "one rule for each" : "a destination, such as tls://cdn.example or GET http://api.example/**");
    }
    auto parts = split();
    if (!parts) return std::nullopt;
    if (std::ranges::find(kNotYet, parts->scheme) != kNotYet.end()) return not_yet(*parts);
    auto scheme = scheme_of(*parts);
    if (!scheme) return std::nullopt;
    return *scheme == Scheme::kHttp ? http(*parts) : tunnel(*parts, *scheme);
  }

 private:
  std::nullopt_t refuse(std::string message, std::string advice) {
    reporter_.error(node_.at, std::move(message), node_.text, std::move(advice));
    return std::nullopt;
  }

  std::optional<Parts> split() {
    Parts parts;
    parts.whole = node_.text;
    Text rest = parts.whole;
    if (rest.find('\n') != rest.npos)
      return refuse("a destination stands in one line", "it without | or >, in one line");
    if (rest.starts_with(' ') || rest.ends_with(' '))
      return refuse("a space at the beginning or end", "the destination without it");
    if (auto space = rest.find(' '); space != rest.npos) {
      parts.methods = rest.substr(0, space);
      rest.remove_prefix(space + 1);
      if (parts.methods.find("://") != parts.methods.npos)
        return refuse("something stands after the destination",
                      "methods, one space, the destination, and nothing else");
      if (rest.find(' ') != rest.npos || rest.empty())
        return refuse("too many spaces",
                      "methods with commas and without spaces, one space, the destination: GET,HEAD http://...");
    }
    auto mark = rest.find("://");
    if (mark == rest.npos) return missing_scheme(rest);
    parts.scheme = rest.substr(0, mark);
    rest.remove_prefix(mark + 3);
    auto end = std::min(rest.find_first_of("/?#"), rest.size());
    parts.authority = rest.substr(0, end);
    parts.path = rest.substr(end);
    return parts;
  }

  // Nobody is told to write a password into a policy.
  static Text without_user(Text authority) {
    auto at = authority.rfind('@');
    return at == authority.npos ? authority : authority.substr(at + 1);
  }

  std::nullopt_t missing_scheme(Text rest) {
    if (MethodSet::of(rest))
      return refuse("a method without a destination", std::string(rest) + " http://api.example/**");
    Text authority = rest.substr(0, rest.find('/'));
    bool has_user = without_user(authority) != authority;
    auto host = quoted(without_user(authority));
    host = host.substr(1, host.size() - 2);
    return refuse(
        std::string("the scheme is missing: it says what is enforced") +
            (has_user ? "; and a user name is no part of a rule" : ""),
        "tls://" + host + " (an encrypted tunnel), or http://" + host + "/** (clear HTTP, every request decided)");
  }

  std::nullopt_t not_yet(const Parts& parts) {
    bool has_path = parts.scheme == "https" && !parts.path.starts_with('/');
    std::string host = quoted(without_user(parts.authority));
    host = host.substr(1, host.size() - 2);
    return refuse(
        std::string(parts.scheme) + ":// is not supported yet" +
            (without_user(parts.authority) != parts.authority ? ", and a user name is no part of a rule" : "") +
            (has_path ? " (and its path is missing: https://h/** would be everything, https://h/ exactly /)" : ""),
        "tls://" + host +
            (action_ == Action::kAllow
                 ? ", an opaque tunnel: host and port are enforced there, methods and paths are not"
                 : ", which denies the whole port"));
  }

  std::optional<Scheme> scheme_of(const Parts& parts) {
    for (Scheme scheme : {Scheme::kHttp, Scheme::kTls, Scheme::kTcp})
      if (parts.scheme == to_string(scheme)) return scheme;
    std::string small(parts.scheme);
    std::ranges::transform(small, small.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (small == parts.scheme && (small == "udp" || small == "quic"))
      return refuse("UDP is not carried", "tcp:// or tls://");
    auto meant = did_you_mean(small, kAllSchemes);
    return refuse("unknown scheme " + quoted(parts.scheme) +
                      (meant.empty() ? "" : ": did you mean " + std::string(meant) + "://?"),
                  meant.empty() ? "http://, tls:// or tcp://" : std::string(meant) + "://");
  }

  std::optional<RuleTerms> http(const Parts& parts) {
    auto where = read_authority(parts, Scheme::kHttp);
    if (!where) return std::nullopt;
    RuleTerms terms{Scheme::kHttp, std::move(where->first), where->second};
    if (!parts.methods.empty()) {
      auto methods = read_methods(parts.methods, node_.at, reporter_);
      if (!methods) return std::nullopt;
      terms.methods = *methods;
    }
    auto path = read_path(parts);
    if (!path) return std::nullopt;
    terms.path = std::move(*path);
    return terms;
  }

  std::optional<RuleTerms> tunnel(const Parts& parts, Scheme scheme) {
    std::string name(to_string(scheme));
    if (!parts.methods.empty())
      return refuse(name + ":// is an opaque tunnel, and nothing there reads methods",
                    "the destination without methods");
    if (is_range(parts))
      return refuse("a rule is about one address, not a range of them", "one rule for each address that is needed");
    if (!parts.path.empty())
      return refuse(name + ":// is an opaque tunnel, and nothing there reads paths",
                    name + "://HOST:PORT and nothing after it");
    auto where = read_authority(parts, scheme);
    if (!where) return std::nullopt;
    return RuleTerms{scheme, std::move(where->first), where->second};
  }

  std::optional<std::pair<HostPattern, Port>> read_authority(const Parts& parts, Scheme scheme) {
    if (Text host = without_user(parts.authority); host != parts.authority) {
      std::string alone = quoted(host);
      return refuse("a destination has no user or password",
                    "the host alone: " + std::string(parts.scheme) + "://" + alone.substr(1, alone.size() - 2));
    }
    auto split = split_port(parts.authority);
    auto host = read_host({split.host, scheme, action_, node_.at}, reporter_);
    if (!host && !split.has_port) return std::nullopt;
    auto port = read_port(split, scheme, node_.at, reporter_);
    if (!host || !port) return std::nullopt;
    return std::pair(*std::move(host), *port);
  }

  std::optional<PathPattern> read_path(const Parts& parts) {
    if (parts.path.empty()) {
      auto before = quoted(parts.whole);
      before = before.substr(1, before.size() - 2);
      return refuse("the path is missing", before + "/** for everything, or " + before + "/ for exactly /");
    }
    if (parts.path.find('#') != parts.path.npos)
      return refuse("a fragment ('#') never reaches a server", "the destination without it");
    if (parts.path.find('?') != parts.path.npos)
      return refuse("a query stands in its own key, query:", "the destination without '?' and what follows, and query: below");
    std::string path = with_task(parts.path);
    if (path.find('{') != path.npos || path.find('}') != path.npos)
      return refuse("the only placeholder is {task}, the task's id", "* for one segment, or {task}");
    auto pattern = PathPattern::parse(path);
    if (!pattern) return path_fault(pattern.error().detail);
    return std::move(pattern).value();
  }

  // {task} with the task's id; without a task as it stands in a canonical path.
  std::string with_task(Text path) const {
    constexpr Text kPlaceholder = "{task}";
    std::string out;
    for (auto at = path.find(kPlaceholder); at != path.npos; at = path.find(kPlaceholder)) {
      out += path.substr(0, at);
      out += task_.empty() ? Text("%7Btask%7D") : task_;
      path.remove_prefix(at + kPlaceholder.size());
    }
    out += path;
    return out;
  }

  std::nullopt_t path_fault(const std::string& detail) {
    constexpr Text kWrite = ": write ";
    auto at = detail.find(kWrite);
    if (at != detail.npos) return refuse(detail.substr(0, at), detail.substr(at + kWrite.size()));
    return refuse(
        detail, "segments of letters, digits and -._~ with single slashes between, anything else as %XX in upper case");
  }

  // "192.0.2.0/24"
  static bool is_range(const Parts& parts) {
    return IpPrefix::parse(std::string(parts.authority) + std::string(parts.path.substr(0, parts.path.find(':'))))
               .has_value() &&
           !parts.path.empty();
  }

  Action action_;
  const YamlNode& node_;
  Text task_;
  Reporter& reporter_;
};

}  // namespace

std::optional<RuleTerms> read_destination(Action action, const YamlNode& node, std::string_view task,
                                          Reporter& reporter) {
  return DestinationReading(action, node, task, reporter).read();
}

}  // namespace sallyport::policy
