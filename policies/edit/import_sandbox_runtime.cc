// Settings of sandbox-runtime, as its README describes them: allowedDomains with an optional port, deniedDomains that
// win.
#include "core/base/units.h"
#include "policies/edit/importers.h"

namespace sallyport::policy::edit {
namespace {

struct Pattern {
  ImportedHost host;
  std::uint32_t port = 0;  // 0: any
};

// "api.example", "*.example:8443", "[2001:db8::1]:443"
std::optional<Pattern> pattern_of(const YamlNode& node) {
  if (!node.is_scalar()) return std::nullopt;
  std::string_view text = node.text, host = text;
  Pattern out;
  auto colon = text.rfind(':');
  bool bracketed = text.starts_with('[');
  if (colon != text.npos && (!bracketed || (colon > 0 && text[colon - 1] == ']'))) {
    auto port = Port::parse(text.substr(colon + 1));
    if (!port) return std::nullopt;
    out.port = port.value().value();
    host = text.substr(0, colon);
  }
  auto read = imported_host(host);
  if (!read) return std::nullopt;
  out.host = *std::move(read);
  return out;
}

void network(const YamlNode& map, ImportedRules& rules, Reporter& reporter) {
  bool any_port = false, unread_denial = false;
  Position any_at;
  for (const YamlEntry& entry : map.entries) {
    bool allowed = entry.key == "allowedDomains", denied = entry.key == "deniedDomains";
    if (!allowed && !denied) {
      bool off = entry.value.text == "false" || (entry.value.is_list() && entry.value.items.empty());
      if (!off) reporter.warning(entry.at, "not carried over", entry.key, "by hand what is meant");
      continue;
    }
    if (!entry.value.is_list()) {
      reporter.error(entry.value.at, entry.key + " is a list", {}, "[\"api.example\"]");
      continue;
    }
    for (const YamlNode& item : entry.value.items) {
      auto pattern = pattern_of(item);
      bool all = pattern && pattern->host.text == "*";
      if (!pattern || (allowed && all)) {
        unread_denial = unread_denial || denied;
        reporter.warning(
            item.at,
            allowed ? "left out: no host, and no *. before one" : "a denial that cannot be read, so nothing is allowed",
            item.text, "api.example or *.example.com");
        continue;
      }
      if (denied) {
        rules.deny(pattern->host, pattern->port, item.at);
      } else if (pattern->port == 0) {
        if (!any_port) any_at = item.at;
        any_port = true;
        rules.allow(pattern->host, item.at);
      } else {
        rules.allow(pattern->host, pattern->port, item.at);
      }
    }
  }
  if (unread_denial) rules.deny({"*"}, 0, map.at);
  if (any_port)
    reporter.warning(any_at,
                     "an entry without a port is any port there: TLS on 443 and clear HTTP on 80 are carried over", {},
                     "a rule tcp://HOST:PORT for each other port that is used");
}

}  // namespace

void import_sandbox_runtime(const YamlNode& root, ImportedRules& rules, Reporter& reporter) {
  if (!root.is_map()) return reporter.error(root.at, "settings are a map", {}, "the file ~/.srt-settings.json");
  for (const YamlEntry& entry : root.entries) {
    if (entry.key == "network" && entry.value.is_map())
      network(entry.value, rules, reporter);
    else if (entry.key == "filesystem")
      reporter.warning(entry.at, "not carried over: files are not a policy's matter", entry.key,
                       "sallyport run with --workspace DIR and --ro DIR");
    else if (entry.value.text != "false")
      reporter.warning(entry.at, "not carried over", entry.key, "by hand what is meant");
  }
}

}  // namespace sallyport::policy::edit
