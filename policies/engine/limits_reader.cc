#include "policies/engine/limits_reader.h"

#include <array>

#include "policies/engine/key_table.h"
#include "policies/engine/language_keys.h"
#include "policies/engine/quantity.h"

namespace sallyport::policy {
namespace {

using Text = std::string_view;

constexpr std::array kLimitKeys{Text("requests"), Text("connections"), Text("duration"), Text("upload"),
                                Text("download")};
constexpr std::array kLimitHints{
    KeyHint{"wall", "wall is the time of the whole task, and belongs to budgets:",
            "duration: for one connection, or wall: in budgets:"},
    KeyHint{"idle", "idle is set for the whole task, and belongs to budgets:", "idle: in budgets:"},
    KeyHint{"bytes", "bytes are limited in each direction", "upload: and download:"},
    KeyHint{"rate", "rates are not limited, amounts are", "requests:"},
    KeyHint{"timeout", "there is no key timeout", "duration:"}};
constexpr KeyTable kLimits{"limits", kLimitKeys, {}, kLimitHints};

constexpr std::array kConnectionKeys{Text("concurrent"), Text("total")};
constexpr std::array kConnectionHints{KeyHint{
    "duration", "the duration of a rule's connections is a key of limits: itself", "duration: beside connections:"}};
constexpr KeyTable kRuleConnections{"connections", kConnectionKeys, {}, kConnectionHints};
constexpr std::array kTaskConnectionKeys{Text("concurrent"), Text("total"), Text("duration")};
constexpr KeyTable kTaskConnections{"connections", kTaskConnectionKeys, {}, {}};

constexpr std::array kBudgetKeys{Text("wall"),     Text("idle"),     Text("upload"),
                                 Text("download"), Text("requests"), Text("connections"), Text("dns")};
constexpr std::array kBudgetHints{
    KeyHint{"duration", "the duration of connections stands below connections:, that of the task is wall:",
            "connections: {duration: 10m}, or wall: 30m"},
    KeyHint{"time", "the time of the whole task is wall:", "wall: 30m"},
    KeyHint{"timeout", "the time of the whole task is wall:, that of a silent connection idle:", "wall: 30m"},
    KeyHint{"memory", "memory is limited by the runtime, not by the policy", "the policy without it"},
    KeyHint{"bytes", "bytes are limited in each direction", "upload: and download:"}};
constexpr KeyTable kBudgets{"budgets", kBudgetKeys, {}, kBudgetHints};

constexpr std::array kDnsKeys{Text("queries"), Text("names")};
constexpr std::array kDnsHints{KeyHint{"requests", "lookups are counted as queries", "queries: 2000"},
                               KeyHint{"lookups", "lookups are counted as queries", "queries: 2000"},
                               KeyHint{"hosts", "distinct names are counted as names", "names: 100"}};
constexpr KeyTable kDns{"dns", kDnsKeys, {}, kDnsHints};

void read_dns_budget(const YamlNode& node, Budgets& budgets, Reporter& reporter) {
  if (!require_map(node, "dns", "dns: {queries: 2000, names: 100}", reporter)) return;
  for (const YamlEntry& entry : node.entries) {
    if (!check_key(kDns, entry, reporter)) continue;
    if (entry.key == "queries") budgets.dns_queries = read_count(entry.value, "dns: queries", reporter);
    if (entry.key == "names") budgets.dns_names = read_count(entry.value, "dns: names", reporter);
  }
}

void read_connection_map(const YamlNode& node, const KeyTable& table, Limits& limits, Reporter& reporter) {
  for (const YamlEntry& entry : node.entries) {
    if (!check_key(table, entry, reporter)) continue;
    if (entry.key == "concurrent")
      limits.connections_concurrent = read_count(entry.value, "connections: concurrent", reporter);
    if (entry.key == "total") limits.connections_total = read_count(entry.value, "connections: total", reporter);
    if (entry.key == "duration") limits.duration = read_duration(entry.value, "connections: duration", reporter);
  }
}

// The keys that a rule and a whole policy share.
void read_shared(const YamlEntry& entry, Limits& limits, Reporter& reporter) {
  if (entry.key == "requests") limits.requests = read_count(entry.value, "requests", reporter);
  if (entry.key == "upload") limits.upload = read_size(entry.value, "upload", reporter);
  if (entry.key == "download") limits.download = read_size(entry.value, "download", reporter);
}

}  // namespace

std::vector<KeyTable> limit_keys() { return {kLimits, kRuleConnections, kTaskConnections, kBudgets, kDns}; }

Limits read_limits(const YamlNode& node, Scheme scheme, Reporter& reporter) {
  Limits limits;
  if (!require_map(node, "limits", "limits: {connections: 10, duration: 10m}", reporter)) return limits;
  for (const YamlEntry& entry : node.entries) {
    if (!check_key(kLimits, entry, reporter)) continue;
    if (entry.key == "requests" && scheme != Scheme::kHttp) {
      reporter.error(entry.at, "a limit of requests on an opaque rule: nothing in a tunnel counts requests", entry.key,
                     "connections:, duration:, upload: or download:");
      continue;
    }
    read_shared(entry, limits, reporter);
    if (entry.key == "duration") limits.duration = read_duration(entry.value, "duration", reporter);
    if (entry.key != "connections") continue;
    if (entry.value.is_map())
      read_connection_map(entry.value, kRuleConnections, limits, reporter);
    else
      limits.connections_total = read_count(entry.value, "connections", reporter);
  }
  return limits;
}

Budgets read_budgets(const YamlNode& node, Reporter& reporter) {
  Budgets budgets;
  if (!require_map(node, "budgets", "budgets: and below it, for example, download: 500MiB", reporter)) return budgets;
  for (const YamlEntry& entry : node.entries) {
    if (!check_key(kBudgets, entry, reporter)) continue;
    read_shared(entry, budgets.limits, reporter);
    if (entry.key == "wall") budgets.wall = read_duration(entry.value, "wall", reporter);
    if (entry.key == "dns") read_dns_budget(entry.value, budgets, reporter);
    if (entry.key == "idle") budgets.idle = read_duration(entry.value, "idle", reporter);
    if (entry.key != "connections") continue;
    if (require_map(entry.value, "connections", "connections: {concurrent: 64, total: 5000, duration: 10m}", reporter))
      read_connection_map(entry.value, kTaskConnections, budgets.limits, reporter);
  }
  return budgets;
}

}  // namespace sallyport::policy
