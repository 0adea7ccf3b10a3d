#include "policies/review/diff_limits.h"

#include <algorithm>
#include <array>

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
  const Inquiry* witness = nullptr;
};

void add(std::vector<Change>& list, std::size_t& untold, Change change) {
  if (list.size() < kMostChanges)
    list.push_back(std::move(change));
  else
    ++untold;
}

// Where the successors of a rule of `from` may use more than that rule. `forward`: from a to b.
void exceeding(const CompiledPolicy& from, const CompiledPolicy& to,
               const std::map<std::uint32_t, Successors>& successors, bool forward, std::vector<Change>& list,
               std::size_t& untold) {
  for (const auto& [index, next] : successors) {
    const Rule& rule = from.rules()[index];
    for (const Kind& kind : kKinds) {
      Amount limit = kind.of(rule.limits), sum = kind.of(to.rules()[next.rules.front()].limits);
      std::string of = line_of(to.rules()[next.rules.front()]);
      for (std::size_t i = 1; i < next.rules.size(); ++i) {
        sum = together(sum, kind.of(to.rules()[next.rules[i]].limits), kind.adds);
        if (i < 4) of += ", " + line_of(to.rules()[next.rules[i]]);
        if (i == 4) of += " and others";
      }
      if (!exceeds(sum, limit)) continue;
      std::string here = text_of(limit, kind) + " by rule " + line_of(rule),
                  there = text_of(sum, kind) + " by rule " + of;
      if (next.rules.size() > 1) there += " together";
      std::string what =
          std::string(kind.name) + ": " + (forward ? here : there) + " before, " + (forward ? there : here) + " now";
      add(list, untold,
          {std::move(what), *next.witness, summary(ask(forward ? from : to, *next.witness)),
           summary(ask(forward ? to : from, *next.witness))});
    }
  }
}

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

bool may_exceed(const Limits& limits, const Limits& bound) {
  return std::ranges::any_of(kKinds, [&](const Kind& kind) { return exceeds(kind.of(limits), kind.of(bound)); });
}

void diff_rule_limits(const CompiledPolicy& a, const CompiledPolicy& b, const RulePairs& pairs, Diff& out) {
  std::map<std::uint32_t, Successors> of_a, of_b;
  for (const auto& [pair, witness] : pairs) {
    of_a[pair.first].rules.push_back(pair.second);
    of_a[pair.first].witness = &witness;
    of_b[pair.second].rules.push_back(pair.first);
    of_b[pair.second].witness = &witness;
  }
  exceeding(a, b, of_a, true, out.wider, out.wider_untold);
  diff_ech(a, b, pairs, out);
  exceeding(b, a, of_b, false, out.narrower, out.narrower_untold);
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
