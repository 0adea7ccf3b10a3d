#include "policies/review/diff.h"

#include <algorithm>
#include <set>

#include "core/base/escape.h"
#include "policies/review/diff_limits.h"
#include "policies/review/explain.h"
#include "policies/review/path_classes.h"
#include "policies/review/universe.h"

namespace sallyport::policy::review {
namespace {

using Kind = Inquiry::Kind;

class Comparing {
 public:
  Comparing(const CompiledPolicy& a, const CompiledPolicy& b) : a_(a), b_(b) {}

  Diff run() {
    for (const Target& host : hosts_of(a_, b_)) compare_host(host);
    diff_rule_limits(a_, b_, pairs_, out_);
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
    if (!same && !host.is_literal()) compare({Kind::kName, host});
  }

  static bool has_limits(const HostView& view) {
    return std::ranges::any_of(view.rules, [](const auto& entry) { return entry.rule->limits != Limits{}; });
  }

  void compare_connections(const Target& host, Port port) {
    compare({Kind::kTls, host, port});
    compare({Kind::kTcp, host, port});
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
      out_.undecided.push_back("the " + std::to_string(exact.size() + loose.size()) + " path rules for " + host.authority(port) +
                               " are too many or too entangled to compare in full");
    auto methods = methods_of(at_a, at_b);
    for (const std::string& path : classes.paths)
      for (auto method : methods) compare_request(host, port, method, path, methods);
  }

  // One request, and the same with what would have a server read another method.
  void compare_request(const Target& host, Port port, std::string_view method, const std::string& path,
                       const std::vector<std::string_view>& methods) {
    Inquiry inquiry{Kind::kHttp, host, port};
    inquiry.method = method;
    auto canonical = CanonicalTarget::parse(path);
    if (!canonical) return;
    inquiry.request = std::move(canonical).value();
    // Whatever is added only ever takes away.
    if (!compare(inquiry)) return;
    for (auto other : methods) {
      inquiry.override = other;
      compare(inquiry);
    }
    inquiry.override.clear();
    inquiry.request->has_query = true;
    inquiry.request->query = "_method=" + std::string(methods.front());
    compare(inquiry);
  }

  // False when both deny.
  bool compare(const Inquiry& inquiry) {
    auto said_a = ask(a_, inquiry), said_b = ask(b_, inquiry);
    if (said_a.allowed() && said_b.allowed()) {
      if (inquiry.kind != Kind::kName && inquiry.kind != Kind::kConnect)
        pairs_.try_emplace({said_a.rule->index, said_b.rule->index}, inquiry);
      return true;
    }
    if (said_b.allowed()) told(out_.wider, out_.wider_untold, wider_by_, b_, inquiry, said_a, said_b);
    if (said_a.allowed()) told(out_.narrower, out_.narrower_untold, narrower_by_, a_, inquiry, said_a, said_b);
    return said_a.allowed() || said_b.allowed();
  }

  // One change for each rule that allows, with its first witness.
  void told(std::vector<Change>& list, std::size_t& untold, std::set<std::uint32_t>& by, const CompiledPolicy& allowing,
            const Inquiry& inquiry, const Answer& said_a, const Answer& said_b) {
    const Answer& allowed = said_a.allowed() ? said_a : said_b;
    if (!by.insert(allowed.rule->index).second) return;
    if (list.size() >= kMostChanges) {
      ++untold;
      return;
    }
    const Rule& rule = allowing.rules()[allowed.rule->index];
    std::string what = "rule " + rule.id + " in line " + std::to_string(rule.line) + ", allow: " + escape_text(rule.text, 300);
    list.push_back({std::move(what), inquiry, summary(said_a), summary(said_b)});
  }

  const CompiledPolicy& a_;
  const CompiledPolicy& b_;
  RulePairs pairs_;
  std::set<std::uint32_t> wider_by_, narrower_by_;
  Diff out_;
};

}  // namespace

Diff diff(const CompiledPolicy& a, const CompiledPolicy& b) { return Comparing(a, b).run(); }

}  // namespace sallyport::policy::review
