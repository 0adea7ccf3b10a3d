#include "policies/edit/imported_rules.h"

#include <algorithm>
#include <set>

#include "core/base/escape.h"
#include "policies/edit/scalar_text.h"
#include "policies/engine/load.h"
#include "policies/engine/target.h"

namespace sallyport::policy::edit {

bool ImportedHost::is_address() const {
  auto target = Target::parse(text);
  return target && target.value().is_literal();
}

bool ImportedHost::covers(const ImportedHost& other) const {
  if (text == "*" || text == other.text) return true;
  if (!text.starts_with("*.") || other.is_address()) return false;
  std::string_view name = other.text;
  if (name.starts_with("*.")) name.remove_prefix(2);
  bool below = name.size() > text.size() - 1 && name.ends_with(std::string_view(text).substr(1));
  // "*.b.a" lies below "*.a"; "*.a" does not lie below "*.a" by its apex.
  return below;
}

std::optional<ImportedHost> imported_host(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (out.ends_with('.')) out.pop_back();
  if (out == "*") return ImportedHost{out};
  std::string_view name = out;
  if (name.starts_with("*.")) name.remove_prefix(2);
  auto target = Target::parse(name);
  if (!target || (target.value().is_literal() && out.starts_with("*."))) return std::nullopt;
  return ImportedHost{out};
}

std::string ImportedRules::Rule::destination() const {
  std::string where = host.text;
  if (port == 80) return "http://" + where + "/**";
  // A name in a greeting is what tls:// checks; an address has none.
  if (port == 443 && !host.is_address()) return "tls://" + where;
  return "tcp://" + where + ":" + std::to_string(port);
}

void ImportedRules::allow(const ImportedHost& host, Position at) {
  if (!host.is_address()) allow(host, 443, at);
  allow(host, 80, at);
}

void ImportedRules::allow(const ImportedHost& host, std::uint32_t port, Position at) {
  Rule rule{true, host, port, at};
  // One that another covers is dropped later: the other may turn out not to load.
  bool again = std::ranges::any_of(rules_, [&](const Rule& r) { return r.port == port && r.host.text == host.text; });
  if (!again) rules_.push_back(std::move(rule));
}

void ImportedRules::deny(const ImportedHost& host, std::uint32_t port, Position at) {
  denials_.push_back({host, port, at});
}

// A denial that lies over an allow rule takes it away; one that lies inside it becomes a rule.
void ImportedRules::apply_denials() {
  std::vector<Rule> made;
  for (const Denial& denial : denials_) {
    std::set<std::uint32_t> ports;
    std::erase_if(rules_, [&](const Rule& rule) {
      if (!denial.meets(rule)) return false;
      if (denial.host.covers(rule.host)) return true;
      ports.insert(rule.port);
      return false;
    });
    for (auto port : ports) {
      Rule rule{false, denial.host, port, denial.at};
      bool again =
          std::ranges::any_of(made, [&](const Rule& r) { return r.port == port && r.host.covers(denial.host); });
      if (!again) made.push_back(std::move(rule));
    }
  }
  rules_.insert(rules_.begin(), made.begin(), made.end());
}

std::string ImportedRules::text(const ImportWishes& wishes, const std::vector<std::string>& head,
                                std::vector<std::size_t>& lines) const {
  std::string out;
  std::size_t line = 1;
  for (const auto& comment : head) out += "# " + escape_text(comment, 300) + "\n", ++line;
  out += "policy: " + scalar_text(wishes.name, Within::kBlock) + "/1\nrules:\n";
  line += 2;
  for (const Rule& rule : rules_) {
    out += std::string("  - ") + (rule.allow ? "allow: " : "deny: ") + scalar_text(rule.destination(), Within::kBlock) +
           "\n";
    lines.push_back(line++);
  }
  return out;
}

// Takes out a rule that does not load. A denial takes with it what it would have denied. False: it was a denial that
// another covers.
bool ImportedRules::drop(std::size_t index, const std::string& message) {
  Rule rule = rules_[index];
  rules_.erase(rules_.begin() + static_cast<std::ptrdiff_t>(index));
  bool idle = message.find("never") != std::string::npos;
  if (idle) return false;
  reporter_.warning(rule.at, "left out: " + message, rule.destination(), "by hand what is meant");
  if (!rule.allow)
    std::erase_if(rules_, [&](const Rule& other) {
      return other.allow && other.port == rule.port && other.host.overlaps(rule.host);
    });
  return true;
}

Imported ImportedRules::finish(const ImportWishes& wishes, const std::vector<std::string>& head) {
  apply_denials();
  for (std::size_t left = rules_.size() + 1; left > 0; --left) {
    std::vector<std::size_t> lines;
    std::string made = text(wishes, head, lines);
    auto loaded = load(made, file_);
    if (loaded.policy) return {std::move(made), {}};
    auto error = std::ranges::find(loaded.diagnostics, Severity::kError, &Diagnostic::severity);
    auto at = std::ranges::find(lines, error->line);
    if (at == lines.end()) {
      reporter_.error({}, "the policy that was made does not load: " + error->message, {}, error->advice);
      return {};
    }
    drop(static_cast<std::size_t>(at - lines.begin()), error->message);
  }
  return {};
}

}  // namespace sallyport::policy::edit
