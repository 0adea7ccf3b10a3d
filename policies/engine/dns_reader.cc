#include "policies/engine/dns_reader.h"

#include <algorithm>

namespace sallyport::policy {
namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return out;
}

bool read_word(const YamlNode& node, DnsGrant& grant, Reporter& reporter) {
  auto refuse = [&](std::string message, std::string advice) {
    reporter.error(node.at, std::move(message), node.text, std::move(advice));
    return false;
  };
  if (!node.is_scalar() || node.is_empty())
    return refuse("dns holds record types and real, not " + std::string(kind_text(node)), "dns: [TXT, MX], or dns: real");
  std::string big = upper(node.text);
  if (big == "REAL") {
    if (node.text != "real") return refuse("real is written in lower case", "real");
    if (grant.real) return refuse("real stands twice", "it once");
    grant.real = true;
    return true;
  }
  if (big == "A" || big == "AAAA")
    return refuse("addresses need no dns: an allowed name always has them", "real for true addresses, or the rule without it");
  if (big == "HTTPS" || big == "SVCB")
    return refuse(big + " records are never answered: they would have clients connect to other places", "the other types");
  if (big == "ANY" || big == "*" || big == "AXFR" || big == "IXFR" || big == "PTR" || big == "NULL")
    return refuse(big + " is never looked up for a task", "the types that are needed, such as TXT");
  auto type = record_type_of(big);
  if (!type) return refuse("no DNS record type that a rule can grant", "dns: [TXT, MX], or dns: real");
  if (big != node.text) return refuse("record types are written in upper case", big);
  if (std::ranges::find(grant.types, *type) != grant.types.end()) return refuse("the type " + big + " stands twice", "it once");
  grant.types.push_back(*type);
  return true;
}

}  // namespace

std::optional<DnsGrant> read_dns(const YamlNode& node, Reporter& reporter) {
  DnsGrant grant;
  bool fine = true;
  if (node.is_list() && !node.items.empty())
    for (const YamlNode& item : node.items) fine &= read_word(item, grant, reporter);
  else
    fine = read_word(node, grant, reporter);
  if (!fine) return std::nullopt;
  std::ranges::sort(grant.types);
  return grant;
}

}  // namespace sallyport::policy
