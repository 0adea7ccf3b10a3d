#include "policies/review/diff_limits.h"

#include <algorithm>
#include <array>
#include <span>

#include "policies/review/explain.h"
#include "policies/review/limits_text.h"

namespace sallyport::policy::review {
namespace {

using Amount = std::optional<std::uint64_t>;

// One kind of limit: how it is read, shown, and whether limits of several rules add up.
struct Kind {
  std::string_view name;
  Amount (*of)(const Limits&);
  std::string (*text)(std::uint64_t);
  bool adds;
};

Amount seconds_of(const std::optional<std::chrono::seconds>& time) {
  return time ? Amount(static_cast<std::uint64_t>(time->count())) : std::nullopt;
}
Amount bytes_of(const std::optional<ByteCount>& bytes) { return bytes ? Amount(bytes->value) : std::nullopt; }
std::string count_text(std::uint64_t n) { return std::to_string(n); }
std::string bytes_text(std::uint64_t n) { return size_text({n}); }
std::string time_text(std::uint64_t n) { return duration_text(std::chrono::seconds(n)); }

constexpr std::array kKinds{
    Kind{"requests", [](const Limits& l) { return l.requests; }, count_text, true},
    Kind{"connections", [](const Limits& l) { return l.connections_total; }, count_text, true},
    Kind{"concurrent connections", [](const Limits& l) { return l.connections_concurrent; }, count_text, true},
    Kind{"duration of a connection", [](const Limits& l) { return seconds_of(l.duration); }, time_text, false},
    Kind{"upload", [](const Limits& l) { return bytes_of(l.upload); }, bytes_text, true},
    Kind{"download", [](const Limits& l) { return bytes_of(l.download); }, bytes_text, true}};

std::string text_of(const Amount& amount, const Kind& kind) { return amount ? kind.text(*amount) : "not limited"; }

// What the limits of several rules come to; nothing: not limited.
Amount together(const Amount& a, const Amount& b, bool adds) {
  if (!a || !b) return std::nullopt;
  if (!adds) return std::max(*a, *b);
  return *a + *b < *a ? ~std::uint64_t{0} : *a + *b;
}

bool exceeds(const Amount& amount, const Amount& limit) { return limit && (!amount || *amount > *limit); }

std::string line_of(const Rule& rule) { return rule.id + " (line " + std::to_string(rule.line) + ")"; }

// The rules of `to` that decide what one rule of `from` decides.
struct Successors {
  std::vector<std::uint32_t> rules;
  std::size_t shown = 0;  // so many in front are known to; the others may
  const Inquiry* witness = nullptr;

  void add(std::uint32_t rule, const Inquiry& shows) {
    rules.push_back(rule);
    shown = rules.size();
    witness = &shows;
  }
  void add_possible(std::uint32_t rule) {
    if (std::ranges::find(rules, rule) == rules.end()) rules.push_back(rule);
  }
};

void add(std::vector<Change>& list, std::size_t& untold, Change change) {
  if (list.size() < kMostChanges)
    list.push_back(std::move(change));
  else
    ++untold;
}

class Exceeding {
 public:
  // `forward`: from a to b.
  Exceeding(const CompiledPolicy& from, const CompiledPolicy& to, bool forward, Diff& out)
      : from_(from), to_(to), forward_(forward), out_(out) {}

  // Where the successors of a rule of `from` may use more than that rule.
  void run(const std::map<std::uint32_t, Successors>& successors) {
    for (const auto& [index, next] : successors)
      for (const Kind& kind : kKinds) one(from_.rules()[index], next, kind);
  }

 private:
  void one(const Rule& rule, const Successors& next, const Kind& kind) {
    auto& list = forward_ ? out_.wider : out_.narrower;
    auto& untold = forward_ ? out_.wider_untold : out_.narrower_untold;
    std::span all(next.rules);
    if (auto what = told(rule, all.first(next.shown), kind)) {
      std::string said_from = summary(ask(from_, *next.witness)), said_to = summary(ask(to_, *next.witness));
      if (!forward_) std::swap(said_from, said_to);
      return add(list, untold, {*std::move(what), *next.witness, std::move(said_from), std::move(said_to)});
    }
    auto what = told(rule, all, kind);
    if (!what) return;
    if (!forward_) return add(list, untold, {*std::move(what), std::nullopt, {}, {}});
    if (out_.undecided.size() < kMostChanges)
      out_.undecided.push_back("no request was found that shows it, nor could be shown that there is none: " + *what);
  }

  std::optional<std::string> told(const Rule& rule, std::span<const std::uint32_t> next, const Kind& kind) const {
    if (next.empty()) return std::nullopt;
    Amount limit = kind.of(rule.limits), sum = kind.of(to_.rules()[next.front()].limits);
    std::string of = line_of(to_.rules()[next.front()]);
    for (std::size_t i = 1; i < next.size(); ++i) {
      sum = together(sum, kind.of(to_.rules()[next[i]].limits), kind.adds);
      if (i < 4) of += ", " + line_of(to_.rules()[next[i]]);
      if (i == 4) of += " and others";
    }
    if (!exceeds(sum, limit)) return std::nullopt;
    std::string here = text_of(limit, kind) + " by rule " + line_of(rule),
                there = text_of(sum, kind) + " by rule " + of;
    if (next.size() > 1) there += " together";
    return std::string(kind.name) + ": " + (forward_ ? here : there) + " before, " + (forward_ ? there : here) + " now";
  }

  const CompiledPolicy& from_;
  const CompiledPolicy& to_;
  bool forward_;
  Diff& out_;
};

void compare(std::string_view name, const Amount& a, const Amount& b, std::string (*text)(std::uint64_t), Diff& out) {
  auto shown = [&](const Amount& amount) { return amount ? text(*amount) : "not limited"; };
  Change change{"budget of the task, " + std::string(name) + ": " + shown(a) + " before, " + shown(b) + " now",
                std::nullopt,
                {},
                {}};
  if (exceeds(b, a)) out.wider.push_back(change);
  if (exceeds(a, b)) out.narrower.push_back(change);
}

void diff_ech(const CompiledPolicy& a, const CompiledPolicy& b, const RulePairs& pairs, Diff& out) {
  for (const auto& [pair, witness] : pairs) {
    const Rule& before = a.rules()[pair.first];
    const Rule& after = b.rules()[pair.second];
    if (before.ech == after.ech) continue;
    bool wider = after.ech == Ech::kAllow;
    Change change{std::string("ech: a greeting that hides its server's name is ") +
                      (wider ? "refused by rule " : "allowed by rule ") + line_of(before) + " before, " +
                      (wider ? "allowed by rule " : "refused by rule ") + line_of(after) + " now",
                  witness, summary(ask(a, witness)), summary(ask(b, witness))};
    add(wider ? out.wider : out.narrower, wider ? out.wider_untold : out.narrower_untold, std::move(change));
  }
}

}  // namespace

void diff_rule_limits(const CompiledPolicy& a, const CompiledPolicy& b, const RulePairs& pairs,
                      const PossiblePairs& possible, Diff& out) {
  std::map<std::uint32_t, Successors> of_a, of_b;
  for (const auto& [pair, witness] : pairs) {
    of_a[pair.first].add(pair.second, witness);
    of_b[pair.second].add(pair.first, witness);
  }
  for (const auto& [before, after] : possible) {
    of_a[before].add_possible(after);
    of_b[after].add_possible(before);
  }
  Exceeding(a, b, true, out).run(of_a);
  diff_ech(a, b, pairs, out);
  Exceeding(b, a, false, out).run(of_b);
}

void diff_budgets(const CompiledPolicy& a, const CompiledPolicy& b, Diff& out) {
  const Budgets& before = a.budgets();
  const Budgets& after = b.budgets();
  compare("wall", seconds_of(before.wall), seconds_of(after.wall), time_text, out);
  compare("idle", seconds_of(before.idle), seconds_of(after.idle), time_text, out);
  for (const Kind& kind : kKinds) compare(kind.name, kind.of(before.limits), kind.of(after.limits), kind.text, out);
  compare("DNS questions", before.dns_queries, after.dns_queries, count_text, out);
  compare("distinct names", before.dns_names, after.dns_names, count_text, out);
  compare("denials after which it ends", a.end_after(), b.end_after(), count_text, out);
}

}  // namespace sallyport::policy::review
