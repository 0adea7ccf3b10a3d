// squid.conf, as Squid's documentation describes it: http_access lines are tried in their order, every ACL of a line
// has to match, the first line that matches decides.
//
// Carried over are lines that allow listed names on listed ports. Of lines before them that deny, those are understood
// that name hosts or ports; after one that is not, nothing can be allowed any more, since it might have been denied.
// An ACL is one object wherever its values stand, so all of them are read before the first http_access line; and what
// may deny a request by other means, or may add to an ACL unseen, closes all of the file.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/base/units.h"
#include "policies/edit/importers.h"

namespace sallyport::policy::edit {
namespace {

struct Acl {
  enum class Kind { kHosts, kPorts, kAll, kConnect, kHarmless, kUnknown };
  Kind kind = Kind::kUnknown;
  std::string name;  // as it was first written; Squid does not tell upper from lower case
  std::vector<ImportedHost> hosts;
  std::set<std::uint32_t> ports;  // single ones; of ranges 80 and 443
};

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> out(1);
  for (char c : line) {
    if (c == '#' && out.back().empty()) break;
    if (c != ' ' && c != '\t' && c != '\r')
      out.back() += c;
    else if (!out.back().empty())
      out.emplace_back();
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

template <std::size_t N>
bool is_one_of(std::string_view word, const std::string_view (&list)[N]) {
  return std::ranges::find(list, word) != std::end(list);
}

// Names that Squid defines itself, written out in the file as older versions needed it.
bool is_usual_definition(const std::vector<std::string>& words) {
  constexpr std::string_view kEverything[] = {"all", "0.0.0.0/0", "0.0.0.0/0.0.0.0", "::/0"},
                             kItself[] = {"127.0.0.0/8", "127.0.0.1", "127.0.0.1/32", "0.0.0.0/32", "::1", "::1/128"};
  auto all_in = [&](const auto& list) {
    return std::all_of(words.begin() + 3, words.end(), [&](const auto& word) { return is_one_of(word, list); });
  };
  if (words[1] == "all") return words[2] == "src" && all_in(kEverything);
  if (words[1] == "to_localhost") return words[2] == "dst" && all_in(kItself);
  return words[1] == "manager" && words[2] == "proto" && words.size() == 4 && words[3] == "cache_object";
}

class Reading {
 public:
  Reading(ImportedRules& rules, Reporter& reporter) : rules_(rules), reporter_(reporter) {
    define("all", Acl::Kind::kAll);
    define("CONNECT", Acl::Kind::kConnect);
    // What they match is refused here in any case, or is Squid itself.
    for (const char* name : {"manager", "to_localhost", "to_linklocal"}) define(name, Acl::Kind::kHarmless);
  }

  void run(std::string_view text) {
    auto lines = lines_of(text);
    for (const Line& line : lines)
      if (line.words[0] != "http_access") one(line.at, line.words);
    for (const Line& line : lines)
      if (line.words[0] == "http_access") access(line.at, line.words);
  }

 private:
  struct Line {
    Position at;
    std::vector<std::string> words;  // at least one
  };

  // A line that ends in '\\' goes on in the next.
  std::vector<Line> lines_of(std::string_view text) {
    std::vector<Line> out;
    std::string joined;
    std::uint32_t number = 0, first = 1;
    while (!text.empty()) {
      ++number;
      auto end = std::min(text.find('\n'), text.size());
      joined += text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      joined.resize(joined.find_last_not_of(" \t\r") + 1);
      if (joined.ends_with('\\') && !text.empty()) {
        joined.back() = ' ';
        if (joined.find('#') != joined.npos)
          close({first, 1}, "a comment that goes on in the next line", "\\", "the comment in lines of its own");
        continue;
      }
      if (auto words = words_of(joined); !words.empty()) out.push_back({{first, 1}, std::move(words)});
      joined.clear();
      first = number + 1;
    }
    return out;
  }

  void one(Position at, const std::vector<std::string>& words) {
    const std::string& word = words[0];
    if (word == "acl") return acl(at, words);
    constexpr std::string_view kNothingToDo[] = {"http_port", "cache_dir",  "coredump_dir",    "refresh_pattern",
                                                 "cache_mem", "access_log", "visible_hostname"};
    if (is_one_of(word, kNothingToDo)) return;
    if (word == "include")
      return close(at, "an included file is not read", word, "the contents of the file in its place");
    if (word == "if")
      return close(at, "conditions are not understood", word, "the lines that hold, without the condition");
    if (may_deny(words)) return close(at, "not understood, and may deny any request", word, "by hand what is meant");
    warn(at, "not carried over", word, "by hand what is meant");
  }

  static bool may_deny(const std::vector<std::string>& words) {
    // About other protocols of Squid, and its log.
    constexpr std::string_view kElsewhere[] = {"icp_access",  "htcp_access",         "htcp_clr_access",
                                               "snmp_access", "ident_lookup_access", "log_access"};
    constexpr std::string_view kPrograms[] = {"url_rewrite_program", "redirect_program", "icap_service",
                                              "ecap_service"};
    auto says = [&](std::string_view what) { return std::ranges::find(words, what) != words.end(); };
    if (is_one_of(words[0], kPrograms)) return true;
    if (words[0] == "ssl_bump") return says("terminate");
    bool access = words[0].ends_with("_access") || words[0] == "http_access2";
    return access && !is_one_of(words[0], kElsewhere) && says("deny");
  }

  // Nothing of the file may be allowed.
  void close(Position at, const std::string& what, std::string_view read, std::string advice) {
    blocked_ = true;
    warn(at, what + ": nothing is allowed, before it or after", read, std::move(advice));
  }

  void define(const std::string& name, Acl::Kind kind) {
    Acl& acl = acls_[lower(name)];
    acl.kind = kind;
    acl.name = name;
  }

  // Null when there is none. What is written otherwise than where it was defined is not judged.
  const Acl* find(const std::string& name) const {
    auto found = acls_.find(lower(name));
    return found == acls_.end() || found->second.name != name ? nullptr : &found->second;
  }

  void warn(Position at, std::string message, std::string_view read, std::string advice) {
    reporter_.warning(at, std::move(message), read, std::move(advice));
  }

  void acl(Position at, const std::vector<std::string>& words) {
    if (words.size() < 3)
      return warn(at, "an acl has a name, a type and values", words.back(), "acl NAME dstdomain example.com");
    Acl::Kind kind = words[2] == "dstdomain" ? Acl::Kind::kHosts
                     : words[2] == "port"    ? Acl::Kind::kPorts
                                             : Acl::Kind::kUnknown;
    if (words[2] == "method" && words.size() == 4 && words[3] == "CONNECT") kind = Acl::Kind::kConnect;
    if (is_usual_definition(words)) return;
    if (!acls_.contains(lower(words[1]))) define(words[1], kind);
    Acl& acl = acls_[lower(words[1])];
    if (acl.kind != kind || acl.name != words[1]) acl.kind = Acl::Kind::kUnknown;
    for (std::size_t i = 3; i < words.size(); ++i) {
      if (acl.kind == Acl::Kind::kHosts) host(at, acl, words[i]);
      if (acl.kind == Acl::Kind::kPorts) port(at, acl, words[i]);
    }
  }

  // ".example.com" is the name itself and all below it.
  void host(Position at, Acl& acl, const std::string& word) {
    if (word == "-n") return;
    bool domain = word.starts_with('.');
    auto name = imported_host(domain ? word.substr(1) : word);
    if (!name || name->text.starts_with('*')) {
      acl.kind = Acl::Kind::kUnknown;
      return warn(at, "a value that is not read, so lines with this acl are not carried over", word,
                  "names in the file itself, such as .example.com");
    }
    acl.hosts.push_back(*name);
    if (domain) acl.hosts.push_back({"*." + name->text});
  }

  void port(Position at, Acl& acl, const std::string& word) {
    if (auto port = Port::parse(word)) {
      acl.ports.insert(port.value().value());
      return;
    }
    auto dash = word.find('-');
    auto low = Port::parse(std::string_view(word).substr(0, dash)),
         high = Port::parse(dash == word.npos ? "" : std::string_view(word).substr(dash + 1));
    if (!low || !high) {
      acl.kind = Acl::Kind::kUnknown;
      return warn(at, "a value that is not read, so lines with this acl are not carried over", word,
                  "ports as numbers");
    }
    for (std::uint32_t p : {80u, 443u})
      if (p >= low.value().value() && p <= high.value().value()) acl.ports.insert(p);
    ranges_.push_back({&acl, low.value().value(), high.value().value()});
  }

  bool holds(const Acl& acl, std::uint32_t port) const {
    return acl.ports.contains(port) || std::ranges::any_of(ranges_, [&](const Range& r) {
             return r.acl == &acl && port >= r.low && port <= r.high;
           });
  }

  void access(Position at, const std::vector<std::string>& words) {
    if (words.size() < 3 || (words[1] != "allow" && words[1] != "deny"))
      return warn(at, "an http_access line allows or denies", words[0], "http_access allow NAME");
    if (blocked_) {
      if (words[1] == "allow")
        warn(at, "left out: another line may deny what it allows", words[2], "by hand what is meant");
      return;
    }
    words[1] == "allow" ? allow(at, words) : deny(at, words);
  }

  void deny(Position at, const std::vector<std::string>& words) {
    std::vector<std::pair<const Acl*, bool>> terms;  // and whether it is turned round
    for (std::size_t i = 2; i < words.size(); ++i) {
      bool turned = words[i].starts_with('!');
      terms.emplace_back(find(turned ? words[i].substr(1) : words[i]), turned);
    }
    auto is = [&](std::size_t i, Acl::Kind kind, bool turned) {
      return terms[i].first != nullptr && terms[i].first->kind == kind && terms[i].second == turned;
    };
    if (terms.size() == 1 && is(0, Acl::Kind::kHarmless, false)) return;
    if (terms.size() == 1 && is(0, Acl::Kind::kAll, false)) {
      blocked_ = true;
      return;
    }
    if (terms.size() == 1 && is(0, Acl::Kind::kPorts, true)) {
      only_.push_back(terms[0].first);
      return;
    }
    if (terms.size() == 2 && is(0, Acl::Kind::kConnect, false) && is(1, Acl::Kind::kPorts, true)) {
      only_tunnels_.push_back(terms[1].first);
      return;
    }
    if (terms.size() == 1 && is(0, Acl::Kind::kHosts, false)) {
      // What was allowed before stays so in Squid; here a denial wins, and says no to that too.
      for (const auto& host : terms[0].first->hosts) rules_.deny(host, 0, at);
      if (any_allowed_)
        warn(at, "denied altogether: here a denial wins also over lines that allow before it", words[2],
             "the rules without it, if it is wanted");
      return;
    }
    // Others that also need an ACL we cannot judge may deny anything that follows.
    blocked_ = true;
    warn(at, "a denial that cannot be carried over: lines after it that allow are left out", words[2],
         "by hand what is meant");
  }

  void allow(Position at, const std::vector<std::string>& words) {
    std::vector<const Acl*> hosts, ports;
    for (std::size_t i = 2; i < words.size(); ++i) {
      const Acl* found = find(words[i]);
      Acl::Kind kind = found == nullptr ? Acl::Kind::kUnknown : found->kind;
      if (kind == Acl::Kind::kHosts)
        hosts.push_back(found);
      else if (kind == Acl::Kind::kPorts)
        ports.push_back(found);
      else if (kind != Acl::Kind::kAll)
        return warn(at, "left out: it also asks for something that a policy does not know", words[i],
                    "by hand what is meant");
    }
    if (hosts.empty())
      return warn(at, "left out: it allows every host", words[2], "one rule for each host that is needed");
    any_allowed_ = true;
    std::set<std::uint32_t> candidates{80, 443};
    for (const Acl* acl : ports) candidates.insert(acl->ports.begin(), acl->ports.end());
    for (const auto& host : hosts.front()->hosts) {
      bool in_all = std::ranges::all_of(hosts, [&](const Acl* acl) {
        return std::ranges::any_of(acl->hosts, [&](const auto& h) { return h.covers(host); });
      });
      if (!in_all) continue;
      for (auto port : candidates)
        if (is_open(ports, port)) rules_.allow(host, port, at);
    }
  }

  bool is_open(const std::vector<const Acl*>& ports, std::uint32_t port) const {
    auto in = [&](const Acl* acl) { return holds(*acl, port); };
    bool tunnel = port != 80;
    return std::ranges::all_of(ports, in) && std::ranges::all_of(only_, in) &&
           (!tunnel || std::ranges::all_of(only_tunnels_, in));
  }

  struct Range {
    const Acl* acl;
    std::uint32_t low, high;
  };
  ImportedRules& rules_;
  Reporter& reporter_;
  std::map<std::string, Acl> acls_;
  std::vector<Range> ranges_;
  std::vector<const Acl*> only_, only_tunnels_;  // ports that are not denied, of all requests and of CONNECT
  bool blocked_ = false;                         // nothing may be allowed any more
  bool any_allowed_ = false;
};

}  // namespace

void import_squid(std::string_view text, ImportedRules& rules, Reporter& reporter) {
  Reading(rules, reporter).run(text);
}

}  // namespace sallyport::policy::edit
