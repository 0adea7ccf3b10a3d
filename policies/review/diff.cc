#include "policies/review/diff.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/escape.h"
#include "policies/review/diff_limits.h"
#include "policies/review/explain.h"
#include "policies/review/path_classes.h"
#include "policies/review/request_samples.h"
#include "policies/review/universe.h"

namespace sallyport::policy::review {
namespace {

using Kind = Inquiry::Kind;

class Comparing {
 public:
  Comparing(const CompiledPolicy& a, const CompiledPolicy& b) : a_(a), b_(b) {}

  Diff run() {
    auto hosts = hosts_of(a_, b_);
    for (const Target& host : hosts.targets) compare_host(host);
    for (const std::string& apex : hosts.without)
      undecided("the names below " + apex + " that no rule writes out: none was found to compare");
    diff_rule_limits(a_, b_, pairs_, possible_, out_);
    diff_budgets(a_, b_, out_);
    return std::move(out_);
  }

 private:
  void compare_host(const Target& host) {
    auto in_a = HostView::of(a_, host), in_b = HostView::of(b_, host);
    bool same = in_a.same_as(in_b);
    std::set<Port> ports;
    for (const HostView* view : {&in_a, &in_b})
      for (Port port : view->ports()) ports.insert(port);
    for (Port port : ports) {
      auto at_a = in_a.at(port), at_b = in_b.at(port);
      // Rules that are the same decide the same: only which rule stands for which is to be known.
      if (same && !has_limits(at_a)) continue;
      compare_connections(host, port);
      compare_requests(host, port, at_a, at_b);
    }
    if (!same && !host.is_literal()) compare_lookups(host, in_a, in_b);
  }

  void compare_lookups(const Target& host, const HostView& in_a, const HostView& in_b) {
    compare({Kind::kName, host});
    std::set<RecordType> types;
    for (const HostView* view : {&in_a, &in_b})
      for (const auto& entry : view->rules) types.insert(entry.rule->dns.types.begin(), entry.rule->dns.types.end());
    for (RecordType type : types) {
      Inquiry inquiry{Kind::kRecord, host};
      inquiry.record = type;
      compare(inquiry);
    }
  }

  static bool has_limits(const HostView& view) {
    return std::ranges::any_of(view.rules, [](const auto& entry) { return entry.rule->limits != Limits{}; });
  }

  void compare_connections(const Target& host, Port port) {
    compare({Kind::kTcp, host, port});
    compare({Kind::kTls, host, port});
    compare({Kind::kConnect, host, port});
  }

  void compare_requests(const Target& host, Port port, const HostView& at_a, const HostView& at_b) {
    std::vector<const PathPattern*> exact, loose;
    for (const HostView* view : {&at_a, &at_b}) {
      for (const auto& [rule, terms] : view->rules) {
        if (terms->is_opaque()) continue;
        if (rule->action == Action::kAllow)
          exact.push_back(&*terms->path);
        else
          loose.push_back(&*terms->loose_path);
      }
    }
    auto classes = path_classes(exact, loose);
    if (!classes.complete)
      out_.undecided.push_back("the " + std::to_string(exact.size() + loose.size()) + " path rules for " +
                               host.authority(port) + " are too many or too entangled to compare in full");
    auto methods = methods_of(at_a, at_b);
    for (const std::string& path : classes.paths)
      for (auto method : methods) compare_kind({host, port, path, method, methods, at_a, at_b});
  }

  // All requests of one kind of path and method.
  struct RequestKind {
    const Target& host;
    Port port;
    const std::string& path;
    std::string_view method;
    const std::vector<std::string_view>& methods;
    const HostView& at_a;
    const HostView& at_b;
  };

  void compare_kind(const RequestKind& kind) {
    auto canonical = CanonicalTarget::parse(kind.path);
    if (!canonical) return;
    Inquiry inquiry{Kind::kHttp, kind.host, kind.port};
    inquiry.method = kind.method;
    inquiry.request = std::move(canonical).value();
    std::vector<const RuleTerms*> more;
    for (const HostView* view : {&kind.at_a, &kind.at_b})
      for (bool ceiling : {false, true})
        for (const auto& entry : allowing(*view, ceiling, inquiry.request->path, kind.method))
          if (entry.terms->request != nullptr) more.push_back(entry.terms);
    if (more.empty()) {
      compare_request(inquiry, kind.methods);
      return;
    }
    std::size_t wider_before = wider_seen_;
    for (const auto& query : sample_queries(more)) {
      inquiry.request->has_query = !query.empty();
      inquiry.request->query = query;
      for (const auto& type : sample_bodies(more)) {
        inquiry.content_type = type;
        compare_request(inquiry, kind.methods);
      }
    }
    if (wider_seen_ == wider_before) prove_not_wider(kind, inquiry);
  }

  // Samples showed nothing. What they cannot show has to follow from the rules.
  void prove_not_wider(const RequestKind& kind, const Inquiry& inquiry) {
    if (is_denied(b_, inquiry)) return;
    const CanonicalPath& path = inquiry.request->path;
    auto before = allowing(kind.at_a, false, path, kind.method), above = allowing(kind.at_a, true, path, kind.method),
         after = allowing(kind.at_b, false, path, kind.method);
    if (!kind.at_a.same_as(kind.at_b)) {
      bool denied = is_denied(a_, inquiry);
      for (const auto& now : after) {
        if (!denied && covers(before, now) && (a_.ceiling() == nullptr || covers(above, now))) continue;
        undecided(
            "no request was found that only the new one allows, and it could not be shown that there is none: rule " +
            now.rule->id + " in line " + std::to_string(now.rule->line) + ", " + std::string(kind.method) + " " +
            kind.path);
        return;
      }
    }
    pair_up(before, after);
  }

  // By a denial of the policy or of its ceiling, whatever query and body.
  static bool is_denied(const CompiledPolicy& policy, const Inquiry& inquiry) {
    auto reason = ask(policy, inquiry).reason;
    return reason == ReasonCode::kDeniedByRule || reason == ReasonCode::kPathAmbiguous ||
           reason == ReasonCode::kFloor || (policy.ceiling() != nullptr && is_denied(*policy.ceiling(), inquiry));
  }

  // Which rules of both may decide one and the same request, though no sample was one: the first that matches decides,
  // so none does behind a rule that takes all that it would.
  void pair_up(const std::vector<HostView::Entry>& before, const std::vector<HostView::Entry>& after) {
    std::vector<std::size_t> last;  // for each of `before`, the last of `after` that can decide what it decides
    for (std::size_t i = 0; i < before.size(); ++i) {
      bool idle = first_covering(before, before[i]) < i;
      last.push_back(idle ? 0 : std::min(first_covering(after, before[i]) + 1, after.size()));
    }
    for (std::size_t j = 0; j < after.size(); ++j) {
      if (first_covering(after, after[j]) < j) continue;
      for (std::size_t i = 0, end = std::min(first_covering(before, after[j]) + 1, before.size()); i < end; ++i)
        if (j < last[i] && !are_disjoint(before[i].terms->request.get(), after[j].terms->request.get()))
          possible_.emplace(before[i].rule->index, after[j].rule->index);
    }
  }

  // Its place; how many there are if none takes all that `wanted` takes.
  static std::size_t first_covering(const std::vector<HostView::Entry>& rules, const HostView::Entry& wanted) {
    auto found = std::ranges::find_if(
        rules, [&](const auto& rule) { return does_cover(rule.terms->request.get(), wanted.terms->request.get()); });
    return static_cast<std::size_t>(found - rules.begin());
  }

  static bool covers(const std::vector<HostView::Entry>& before, const HostView::Entry& now) {
    bool one = std::ranges::any_of(
        before, [&](const auto& then) { return does_cover(then.terms->request.get(), now.terms->request.get()); });
    // Whichever of them comes first, it takes the same overriding methods.
    return one &&
           std::ranges::all_of(before, [&](const auto& then) { return then.terms->methods.holds(now.terms->methods); });
  }

  void undecided(std::string what) {
    if (out_.undecided.size() < kMostChanges && std::ranges::find(out_.undecided, what) == out_.undecided.end())
      out_.undecided.push_back(std::move(what));
  }

  // One request, and the same with what would have a server read another method.
  // Where both deny it they do with every addition too: what is added only ever takes away.
  void compare_request(Inquiry inquiry, const std::vector<std::string_view>& methods) {
    if (!compare(inquiry)) return;
    for (auto other : methods) {
      inquiry.override = other;
      compare(inquiry);
    }
    inquiry.override.clear();
    std::string& query = inquiry.request->query;
    query += (query.empty() ? "_method=" : "&_method=") + std::string(methods.front());
    inquiry.request->has_query = true;
    compare(inquiry);
  }

  // False when both deny.
  bool compare(const Inquiry& inquiry) {
    auto said_a = ask(a_, inquiry), said_b = ask(b_, inquiry);
    if (said_a.allowed() && said_b.allowed()) {
      if (inquiry.kind != Kind::kName && inquiry.kind != Kind::kConnect)
        pairs_.try_emplace({said_a.rule->index, said_b.rule->index}, inquiry);
      if (said_a.real_addresses != said_b.real_addresses) told_addresses(inquiry, said_b.real_addresses);
      return true;
    }
    if (said_b.allowed()) ++wider_seen_, told(out_.wider, out_.wider_untold, wider_by_, b_, inquiry, said_a, said_b);
    if (said_a.allowed()) told(out_.narrower, out_.narrower_untold, narrower_by_, a_, inquiry, said_a, said_b);
    return said_a.allowed() || said_b.allowed();
  }

  void told_addresses(const Inquiry& inquiry, bool wider) {
    auto& list = wider ? out_.wider : out_.narrower;
    if (list.size() >= kMostChanges) return;
    std::string now = wider ? "answered with its true addresses now" : "no longer answered with its true addresses";
    list.push_back({"the name " + inquiry.target.text() + " is " + now, inquiry, summary(ask(a_, inquiry)),
                    summary(ask(b_, inquiry))});
  }

  // One change for each rule that allows, with its plainest witness.
  void told(std::vector<Change>& list, std::size_t& untold, std::map<std::uint32_t, std::size_t>& by,
            const CompiledPolicy& allowing, const Inquiry& inquiry, const Answer& said_a, const Answer& said_b) {
    const Answer& allowed = said_a.allowed() ? said_a : said_b;
    auto [known, fresh] = by.emplace(allowed.rule->index, list.size());
    if (!fresh) {
      if (known->second < list.size() && is_plainer(inquiry, *list[known->second].witness)) {
        Change& change = list[known->second];
        change.witness = inquiry;
        change.said_a = summary(said_a);
        change.said_b = summary(said_b);
      }
      return;
    }
    if (list.size() >= kMostChanges) {
      known->second = kMostChanges;
      ++untold;
      return;
    }
    const Rule& rule = allowing.rules()[allowed.rule->index];
    std::string what =
        "rule " + rule.id + " in line " + std::to_string(rule.line) + ", allow: " + escape_text(rule.text, 300);
    list.push_back({std::move(what), inquiry, summary(said_a), summary(said_b)});
  }

  static bool is_plainer(const Inquiry& one, const Inquiry& other) {
    auto burden = [](const Inquiry& i) {
      int kind = i.kind == Kind::kName || i.kind == Kind::kRecord ? 16 : i.kind == Kind::kConnect ? 8 : 0;
      bool key = i.request && i.request->query.find("_method=") != std::string::npos;
      return kind + (i.override.empty() ? 0 : 2) + (key ? 1 : 0);
    };
    return burden(one) < burden(other);
  }

  const CompiledPolicy& a_;
  const CompiledPolicy& b_;
  RulePairs pairs_;
  PossiblePairs possible_;
  std::map<std::uint32_t, std::size_t> wider_by_, narrower_by_;  // to places in the lists
  std::size_t wider_seen_ = 0;                                   // inquiries that only the new one allows
  Diff out_;
};

}  // namespace

Diff diff(const CompiledPolicy& a, const CompiledPolicy& b) { return Comparing(a, b).run(); }

}  // namespace sallyport::policy::review
