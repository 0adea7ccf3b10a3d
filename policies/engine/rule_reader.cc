#include "policies/engine/rule_reader.h"

#include <algorithm>
#include <array>

#include "policies/engine/destination_reader.h"
#include "policies/engine/dns_reader.h"
#include "policies/engine/key_table.h"
#include "policies/engine/language_keys.h"
#include "policies/engine/limits_reader.h"
#include "policies/engine/request_terms_reader.h"

namespace sallyport::policy {
namespace {

using Text = std::string_view;

constexpr std::array kKeys{Text("id"),  Text("allow"), Text("deny"),  Text("limits"),
                           Text("ech"), Text("dns"),   Text("query"), Text("content_type")};
constexpr std::array kNotYet{Text("credential"), Text("approval"), Text("headers")};
constexpr std::array kHints{
    KeyHint{"methods", "methods stand before the destination", "allow: GET,HEAD http://api.example/**"},
    KeyHint{"method", "methods stand before the destination", "allow: GET,HEAD http://api.example/**"},
    KeyHint{"host", "the host is a part of the destination", "allow: tls://api.example"},
    KeyHint{"hosts", "a rule is about one host, or about all below one domain", "one rule for each host"},
    KeyHint{"domain", "the host is a part of the destination", "allow: tls://api.example"},
    KeyHint{"domains", "a rule is about one host, or about all below one domain", "one rule for each host"},
    KeyHint{"url", "the destination stands after allow: or deny:", "allow: http://api.example/**"},
    KeyHint{"port", "the port is a part of the destination", "allow: tcp://db.example:5432"},
    KeyHint{"ports", "the port is a part of the destination, and a rule has one", "allow: tcp://db.example:5432"},
    KeyHint{"path", "the path is a part of the destination", "allow: http://api.example/v1/**"},
    KeyHint{"paths", "the path is a part of the destination, and a rule has one", "allow: http://api.example/v1/**"},
    KeyHint{"action", "the action is a key", "allow: or deny: and the destination"},
    KeyHint{"block", "there is no key block", "deny:"},
    KeyHint{"permit", "there is no key permit", "allow:"},
    KeyHint{"name", "the name of a rule is its id", "id:"},
    KeyHint{"process", "no rule is tied to what a task says of itself", "the rule without it"},
    KeyHint{"program", "no rule is tied to what a task says of itself", "the rule without it"},
    KeyHint{"user_agent", "no rule is tied to what a task says of itself", "the rule without it"},
    KeyHint{"budgets", "budgets belong to the whole policy, limits to a rule", "limits:"}};
constexpr KeyTable kRule{"a rule", kKeys, kNotYet, kHints};

constexpr std::size_t kLongestId = 64;

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kLongestId && text.front() != '-' &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

// "rule-7"
bool is_given_id(std::string_view text) {
  return text.starts_with("rule-") && text.size() > 5 &&
         std::ranges::all_of(text.substr(5), [](char c) { return c >= '0' && c <= '9'; });
}

void read_id(const YamlEntry& entry, ReadRule& out, Reporter& reporter) {
  out.has_id = true;
  out.id_at = entry.value.at;
  if (is_given_id(entry.value.text)) {
    reporter.error(entry.value.at, "ids like this are given to rules that have none", entry.value.text,
                   "id: price-list");
    return;
  }
  if (entry.value.is_scalar() && is_id(entry.value.text)) {
    out.rule.id = entry.value.text;
    return;
  }
  reporter.error(entry.value.at, "an id is 1 to 64 of the characters a-z, 0-9 and -, the first no -", entry.value.text,
                 "id: price-list");
}

// Only tls rules look at the greeting, and only there is something given up by letting it hide its name.
void read_ech(const YamlEntry& entry, Rule& rule, Reporter& reporter) {
  if (rule.action == Action::kDeny)
    reporter.error(entry.at, "ech on a denial: nothing passes whose greeting could hide a name", entry.key, "the rule without ech:");
  else if (rule.scheme != Scheme::kTls)
    reporter.error(entry.at, "ech is a term of tls:// rules: no other rule looks at the TLS greeting", entry.key, "the rule without ech:");
  else if (!entry.value.is_scalar() || entry.value.text != "allow")
    reporter.error(entry.value.at, "ech can only be allowed; without it a greeting that may hide its server's name is refused",
                   entry.value.text, "ech: allow, or the rule without it");
  else
    rule.ech = Ech::kAllow;
}

// Terms that only rules for readable requests can have, and no denials: what is denied can be written in too many ways.
bool takes_request_terms(const YamlEntry& entry, const Rule& rule, Reporter& reporter) {
  if (rule.action == Action::kDeny)
    reporter.error(entry.at, entry.key + " on a denial: the same can be asked for in too many ways to deny each", entry.key,
                   "the denial without it, and " + entry.key + ": on what is allowed instead");
  else if (rule.scheme != Scheme::kHttp)
    reporter.error(entry.at, entry.key + " on an opaque rule: nothing in a tunnel is read", entry.key,
                   "the rule without " + entry.key + ":");
  else
    return true;
  return false;
}

void read_request_terms(const YamlNode& node, ReadRule& out, Reporter& reporter) {
  RequestTerms terms;
  for (const YamlEntry& entry : node.entries) {
    bool query = entry.key == "query";
    if ((!query && entry.key != "content_type") || !takes_request_terms(entry, out.rule, reporter)) continue;
    if (query)
      terms.query = read_query(entry.value, reporter);
    else
      terms.content_types = read_content_types(entry.value, reporter).value_or(std::vector<std::string>());
  }
  if (terms.query || !terms.content_types.empty()) out.terms.request = std::make_shared<const RequestTerms>(std::move(terms));
}

void read_dns_grant(const YamlEntry& entry, ReadRule& out, Reporter& reporter) {
  if (out.rule.action == Action::kDeny)
    return reporter.error(entry.at, "dns on a denial: a name that is denied is not looked up", entry.key, "the rule without dns:");
  if (out.terms.host.target().is_literal())
    return reporter.error(entry.at, "dns on a rule for an address: there is no name to look up", entry.key, "the rule without dns:");
  if (auto grant = read_dns(entry.value, reporter)) out.rule.dns = *std::move(grant);
}

void report_form(const YamlNode& node, Reporter& reporter) {
  bool bare = node.is_scalar() && node.text.find("://") != std::string::npos;
  reporter.error(
      node.at,
      bare ? "a destination without allow: or deny: before it" : "a rule is a map, not " + std::string(kind_text(node)),
      node.text, bare ? "- allow: and the destination" : "- allow: tls://api.example");
}

// The one entry of allow or deny; null, and reported, when there is none or both.
const YamlEntry* action_of(const YamlNode& node, Reporter& reporter) {
  const YamlEntry* found = nullptr;
  bool misspelt = false;
  for (const YamlEntry& entry : node.entries) {
    misspelt |= std::ranges::find(kKeys, Text(entry.key)) == kKeys.end();
    if (entry.key != "allow" && entry.key != "deny") continue;
    if (found != nullptr && found->key != entry.key) {
      reporter.error(entry.at, "a rule allows or denies, not both", entry.key, "two rules");
      return nullptr;
    }
    found = &entry;
  }
  // An unknown key was reported already, and was probably meant for the missing one.
  if (found == nullptr && !misspelt)
    reporter.error(node.at, "a rule without allow: or deny:", {}, "allow: and a destination");
  return found;
}

}  // namespace

KeyTable rule_keys() noexcept { return kRule; }

std::optional<ReadRule> read_rule(const YamlNode& node, std::uint32_t index, std::string_view task, Reporter& reporter) {
  if (!node.is_map()) {
    report_form(node, reporter);
    return std::nullopt;
  }
  for (const YamlEntry& entry : node.entries) check_key(kRule, entry, reporter);
  const YamlEntry* action = action_of(node, reporter);
  if (action == nullptr) return std::nullopt;

  auto kind = action->key == "allow" ? Action::kAllow : Action::kDeny;
  auto terms = read_destination(kind, action->value, task, reporter);
  if (!terms) return std::nullopt;
  Scheme scheme = terms->scheme;
  ReadRule out{{index, "rule-" + std::to_string(index + 1), action->at.line, kind, scheme, action->value.text, {}},
               *std::move(terms),
               action->value.at};
  for (const YamlEntry& entry : node.entries) {
    if (entry.key == "id") read_id(entry, out, reporter);
    if (entry.key == "ech") read_ech(entry, out.rule, reporter);
    if (entry.key == "dns") read_dns_grant(entry, out, reporter);
    if (entry.key != "limits") continue;
    if (kind == Action::kDeny)
      reporter.error(entry.at, "limits on a denial: nothing passes that could be limited", entry.key,
                     "the rule without limits:");
    else
      out.rule.limits = read_limits(entry.value, scheme, reporter);
  }
  read_request_terms(node, out, reporter);
  return out;
}

}  // namespace sallyport::policy
