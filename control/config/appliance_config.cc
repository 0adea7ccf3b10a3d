#include "control/config/appliance_config.h"

#include <algorithm>
#include <array>

#include "policies/engine/key_table.h"
#include "policies/engine/quantity.h"
#include "policies/engine/text_check.h"
#include "policies/engine/yaml_tree.h"

namespace sallyport::control {
namespace {

using policy::KeyTable;
using policy::Reporter;
using policy::YamlEntry;
using policy::YamlNode;
using Text = std::string_view;

constexpr std::array kTop{Text("resolver"), Text("addresses"), Text("sandbox"), Text("audit"), Text("within")};
constexpr std::array kTopNotYet{Text("trust"), Text("credentials"), Text("operations"), Text("listen")};
constexpr KeyTable kAppliance{"the configuration of the appliance", kTop, kTopNotYet};
constexpr std::array kResolver{Text("servers")};
constexpr KeyTable kResolverKeys{"resolver", kResolver, {}};
constexpr std::array kAddresses{Text("permit")};
constexpr KeyTable kAddressesKeys{"addresses", kAddresses, {}};
constexpr std::array kSandbox{Text("memory"), Text("processes")};
constexpr KeyTable kSandboxKeys{"sandbox", kSandbox, {}};
constexpr std::array kAudit{Text("durability")};
constexpr KeyTable kAuditKeys{"audit", kAudit, {}};

class Loading {
 public:
  Loading(std::string_view text, std::string_view file) : text_(text), reporter_(file) {}

  ConfigOutcome run() {
    if (!text_.empty() && policy::check_text(text_, reporter_)) {
      if (auto root = policy::read_yaml(text_, reporter_)) document(*root);
    }
    ConfigOutcome outcome;
    if (!reporter_.failed()) outcome.config = std::move(config_);
    outcome.diagnostics = reporter_.take();
    return outcome;
  }

 private:
  void document(const YamlNode& root) {
    if (!policy::require_map(root, "the configuration", "resolver:, addresses:, sandbox: or audit:", reporter_)) return;
    for (const auto& entry : root.entries) {
      if (!policy::check_key(kAppliance, entry, reporter_)) continue;
      if (entry.key == "within") {
        within(entry.value);
        continue;
      }
      if (!policy::require_map(entry.value, entry.key, "a map", reporter_)) continue;
      if (entry.key == "resolver") section(entry.value, kResolverKeys, &Loading::resolver);
      if (entry.key == "addresses") section(entry.value, kAddressesKeys, &Loading::addresses);
      if (entry.key == "sandbox") section(entry.value, kSandboxKeys, &Loading::sandbox);
      if (entry.key == "audit") section(entry.value, kAuditKeys, &Loading::audit);
    }
  }

  void within(const YamlNode& node) {
    if (node.is_scalar() && node.text.starts_with('/'))
      config_.within = node.text;
    else
      reporter_.error(node.at, "within is the file of a policy, by its whole path", node.text, "within: /etc/sallyport/company.yaml");
  }

  void section(const YamlNode& map, const KeyTable& keys, void (Loading::*read)(const YamlEntry&)) {
    for (const auto& entry : map.entries)
      if (policy::check_key(keys, entry, reporter_)) (this->*read)(entry);
  }

  bool list_of_text(const YamlEntry& entry, std::string_view example) {
    bool fine = entry.value.is_list() && !entry.value.items.empty() &&
                std::ranges::all_of(entry.value.items, [](const YamlNode& item) { return item.is_scalar(); });
    if (!fine) reporter_.error(entry.value.at, "'" + entry.key + "' is a list", {}, entry.key + ": " + std::string(example));
    return fine;
  }

  void resolver(const YamlEntry& entry) {
    if (!list_of_text(entry, "[192.0.2.53]")) return;
    for (const auto& item : entry.value.items) {
      if (!is_server(item.text))
        reporter_.error(item.at, "a server is an address, or an address and a port", item.text, "192.0.2.53, 192.0.2.53:5353 or \"[2001:db8::53]:5353\"");
      config_.resolver_servers.push_back(item.text);
    }
    if (config_.resolver_servers.size() > 8) reporter_.error(entry.value.at, "there are at most 8 servers");
  }

  static bool is_server(std::string_view text) {
    if (IpAddress::parse(text)) return true;
    auto colon = text.rfind(':');
    if (colon == text.npos || !Port::parse(text.substr(colon + 1))) return false;
    auto host = text.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
      auto inner = IpAddress::parse(host.substr(1, host.size() - 2));
      return inner && !inner.value().is_v4();
    }
    auto v4 = IpAddress::parse(host);
    return v4 && v4.value().is_v4();
  }

  void addresses(const YamlEntry& entry) {
    if (!list_of_text(entry, "[10.0.0.0/8]")) return;
    for (const auto& item : entry.value.items) {
      auto prefix = IpPrefix::parse(item.text);
      if (prefix) config_.permit.push_back(prefix.value());
      if (!prefix) reporter_.error(item.at, prefix.error().detail, item.text, "10.0.0.0/8 or \"fd00::/8\"");
    }
  }

  void sandbox(const YamlEntry& entry) {
    if (entry.key == "memory") config_.memory = policy::read_size(entry.value, entry.key, reporter_);
    if (entry.key != "processes") return;
    auto count = policy::read_count(entry.value, entry.key, reporter_);
    if (count && *count > 4'000'000) reporter_.error(entry.value.at, "there are at most 4000000 processes", entry.value.text);
    if (count) config_.processes = static_cast<std::uint32_t>(std::min<std::uint64_t>(*count, 4'000'000));
  }

  void audit(const YamlEntry& entry) {
    config_.strict_audit = entry.value.text == "strict";
    if (!entry.value.is_scalar() || (entry.value.text != "strict" && entry.value.text != "batched"))
      reporter_.error(entry.value.at, "durability is batched or strict", entry.value.text, "durability: batched");
  }

  std::string_view text_;
  Reporter reporter_;
  ApplianceConfig config_;
};

}  // namespace

ConfigOutcome load_appliance_config(std::string_view text, std::string_view file_name) { return Loading(text, file_name).run(); }

}  // namespace sallyport::control
