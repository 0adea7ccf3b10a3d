#include <algorithm>
#include <map>
#include <set>

#include "core/base/escape.h"
#include "policies/engine/advice.h"
#include "policies/engine/method.h"
#include "policies/engine/path_pattern.h"
#include "policies/review/recorded.h"

namespace sallyport::policy::review {
namespace {

using Kind = Inquiry::Kind;

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits, eight hexadecimal digits or more with a digit among them, or a UUID.
bool is_id(std::string_view segment) {
  if (segment.empty()) return false;
  if (std::ranges::all_of(segment, is_digit)) return true;
  std::string bare(segment);
  bool uuid =
      segment.size() == 36 && segment[8] == '-' && segment[13] == '-' && segment[18] == '-' && segment[23] == '-';
  if (uuid) std::erase(bare, '-');
  return bare.size() >= 8 && std::ranges::all_of(bare, is_hex) && std::ranges::any_of(bare, is_digit);
}

std::vector<std::string> segments_of(std::string_view path) {
  PathTokens tokens;
  split_path(path, tokens);
  return {tokens.begin(), tokens.end()};
}

std::string joined(const std::vector<std::string>& segments) {
  std::string out;
  for (const auto& segment : segments) out += "/" + segment;
  return out;
}

// Paths that differ in ids only.
struct Family {
  std::vector<std::set<std::string>> ids;  // by segment; empty where it is none
  std::vector<std::vector<std::string>> members;
};

// What paths become, each with whether anything of it was made a star.
std::map<std::string, bool> generalised(const std::set<std::string>& paths) {
  std::map<std::string, Family> families;
  for (const auto& path : paths) {
    auto segments = segments_of(path), shape = segments;
    for (auto& segment : shape)
      if (is_id(segment)) segment = "\x01";
    Family& family = families[joined(shape)];
    family.ids.resize(segments.size());
    for (std::size_t i = 0; i < segments.size(); ++i)
      if (shape[i] == "\x01") family.ids[i].insert(segments[i]);
    family.members.push_back(std::move(segments));
  }
  std::map<std::string, bool> out;
  for (auto& [shape, family] : families) {
    for (auto& segments : family.members) {
      bool starred = false;
      for (std::size_t i = 0; i < segments.size(); ++i) {
        // A star that was sent can only be allowed by one.
        bool star = family.ids[i].size() >= kManyIds || segments[i].find('*') != std::string::npos;
        if (star) segments[i] = "*", starred = true;
      }
      out[joined(segments)] = starred;
    }
  }
  return out;
}

// All that was recorded of one host and port.
struct Place {
  Place(Target target_, Port port_) : target(std::move(target_)), port(port_) {}

  Target target;
  Port port;
  std::map<std::string, std::set<std::string>> paths;  // by method
  std::set<std::string> everywhere_methods;
  bool tls = false, tcp = false, connected = false;
  std::uint64_t count = 0;
};

class Suggesting {
 public:
  Suggestion run(const std::vector<Recorded>& log, std::string_view name, std::string_view source) {
    for (const Recorded& recorded : log) take(recorded);
    for (const auto& [host, count] : looked_up_) {
      bool used = std::ranges::any_of(places_, [&](const auto& p) { return p.second.target.text() == host; });
      if (!used) lookup_only(host, count);
    }
    for (auto& [key, place] : places_) rules_of(place);
    out_.text = text(log, name, source);
    return std::move(out_);
  }

 private:
  void take(const Recorded& recorded) {
    if (!recorded.by_policy() || recorded.reason == ReasonCode::kDeniedByRule) return leave_out(recorded);
    const Inquiry& inquiry = recorded.inquiry;
    if (inquiry.kind == Kind::kRecord) return leave_out(recorded);
    auto rule = rule_for(inquiry);
    bool star = inquiry.request && inquiry.request->path.text().find('*') != std::string_view::npos;
    if (!rule && !(star && MethodSet::of(inquiry.method))) return leave_out(recorded);
    out_.decisions += recorded.count;
    if (inquiry.kind == Kind::kName) {
      looked_up_[inquiry.target.text()] += recorded.count;
      return;
    }
    Place& place =
        places_.try_emplace(inquiry.target.authority(inquiry.port), Place(inquiry.target, inquiry.port)).first->second;
    place.count += recorded.count;
    if (inquiry.kind == Kind::kConnect) place.connected = true;
    if (inquiry.kind == Kind::kTls) place.tls = true;
    if (inquiry.kind == Kind::kTcp) place.tcp = true;
    if (inquiry.kind != Kind::kHttp) return;
    if (inquiry.request->path.ambiguous())
      place.everywhere_methods.insert(inquiry.method);
    else
      place.paths[inquiry.method].insert(std::string(inquiry.request->path.text()));
  }

  void leave_out(const Recorded& recorded) {
    auto& [count, reason] = left_out_[recorded.inquiry.text()];
    count += recorded.count;
    reason = recorded.reason;
  }

  void lookup_only(const std::string& host, std::uint64_t count) {
    if (auto name = HostName::parse(host))
      if (auto line = policy::rule_for(ConnectionRequest{Target(name.value()), Port::of(443)}))
        add(*line, "only looked up (" + std::to_string(count) + " times): that it is for TLS on port 443 is a guess");
  }

  void add(const std::string& line, const std::string& comment) {
    if (!comment.empty()) rules_ += "  # " + comment + "\n";
    rules_ += "  " + line + "\n";
    ++out_.rules;
  }

  void rules_of(const Place& place) {
    bool v6 = place.target.address() != nullptr && !place.target.address()->is_v4();
    std::string host = v6 ? "[" + place.target.text() + "]" : place.target.text();
    std::string number = ":" + std::to_string(place.port.value());
    if (place.paths.empty() && place.everywhere_methods.empty()) return tunnel(place, host, number);
    if (place.port == Port::of(80)) number.clear();
    std::map<std::string, std::pair<MethodSet, bool>> by_path;
    for (const auto& [method, paths] : place.paths) {
      for (const auto& [path, starred] : generalised(paths)) {
        by_path[path].first.add(*MethodSet::of(method));
        by_path[path].second |= starred;
      }
    }
    for (const auto& method : place.everywhere_methods) by_path["/**"].first.add(*MethodSet::of(method));
    // A rule that an earlier one covers would never decide, and the policy would not load. A pattern without ** covers
    // none that has as many stars or more, so that those with few come first; what is for every path comes last.
    std::vector<std::pair<std::string, std::pair<MethodSet, bool>>> ordered(by_path.begin(), by_path.end());
    std::ranges::sort(ordered, {}, [](const auto& each) {
      const std::string& path = each.first;
      auto stars = path == "/**" ? path.npos : static_cast<std::size_t>(std::ranges::count(path, '*'));
      return std::pair(stars, std::string_view(path));
    });
    for (const auto& [path, found] : ordered) {
      std::string comment;
      if (found.second)
        comment = "each * stands for " + std::to_string(kManyIds) + " or more different ids that were seen there";
      if (path == "/**") comment = "a path with ';' or '%25' was asked for, which only a rule for every path allows";
      std::string line = "- allow: " + found.first.text() + " http://" + host + number + path;
      add(path.ends_with(':') ? "- allow: \"" + line.substr(9) + "\"" : line, comment);
    }
  }

  void tunnel(const Place& place, const std::string& host, const std::string& number) {
    if (place.tcp || place.target.is_literal()) return add("- allow: tcp://" + host + number, "");
    if (place.port == Port::of(80) && !place.tls)
      return add("- allow: http://" + host + "/**", "a connection to port 80: what was to be asked there was not seen");
    add("- allow: tls://" + host + (place.port == Port::of(443) ? "" : number),
        place.tls || place.port == Port::of(443) ? ""
                                                 : "that the connection is TLS is a guess; tcp:// would be anything");
  }

  std::string text(const std::vector<Recorded>& log, std::string_view name, std::string_view source) const {
    std::uint64_t decisions = 0;
    for (const auto& recorded : log) decisions += recorded.count;
    std::string out = "# What " + escape_text(source, 200) + " shows (" + std::to_string(decisions) +
                      " decisions), and nothing else. Read it before it is used:\n";
    out += "# a task that was led astray asked for what led it there, too.\n";
    out += "policy: " + std::string(name) + "/1\n";
    out += out_.rules == 0 ? "rules: []\n" : "rules:\n" + rules_;
    if (left_out_.empty()) return out;
    out += "# Left out:\n";
    std::size_t shown = 0;
    for (const auto& [what, why] : left_out_) {
      if (++shown > 50) {
        out += "#   and " + std::to_string(left_out_.size() - 50) + " more\n";
        break;
      }
      out += "#   " + what + "  (" + std::string(to_string(why.second)) +
             (why.first > 1 ? ", " + std::to_string(why.first) + " times" : "") + ")\n";
    }
    return out;
  }

  std::map<std::string, Place> places_;
  std::map<std::string, std::uint64_t> looked_up_;
  std::map<std::string, std::pair<std::uint64_t, ReasonCode>> left_out_;
  std::string rules_;
  Suggestion out_;
};

}  // namespace

Suggestion suggest(const std::vector<Recorded>& log, std::string_view name, std::string_view source) {
  return Suggesting().run(log, name, source);
}

}  // namespace sallyport::policy::review
