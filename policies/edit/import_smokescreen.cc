// Smokescreen's egress ACL, as its README describes it: a service (role) has an action and allowed_domains; global
// lists override the action, but not allowed_domains; the global deny list wins over the global allow list.
#include <algorithm>

#include "core/base/escape.h"
#include "policies/edit/importers.h"

namespace sallyport::policy::edit {
namespace {

const YamlNode* find(const YamlNode& map, std::string_view key) {
  auto found = std::ranges::find(map.entries, key, &YamlEntry::key);
  return found == map.entries.end() ? nullptr : &found->value;
}

std::string text_of(const YamlNode* node) { return node != nullptr && node->is_scalar() ? node->text : std::string(); }

class Reading {
 public:
  Reading(const YamlNode& root, const ImportWishes& wishes, ImportedRules& rules, Reporter& reporter)
      : root_(root), wishes_(wishes), rules_(rules), reporter_(reporter) {}

  void run(std::vector<std::string>& head) {
    if (!root_.is_map())
      return reporter_.error(root_.at, "an egress ACL is a map", {}, "the file that --egress-acl-file names");
    tell_unknown(root_, {"version", "services", "default", "global_allow_list", "global_deny_list"});
    const YamlNode* service = pick(head);
    if (service == nullptr) return;
    tell_unknown(*service, {"name", "project", "action", "allowed_domains"});
    auto own = hosts(find(*service, "allowed_domains"), "allowed_domains");
    action(*service, own);
    for (const auto& [host, at] : own) rules_.allow(host, at);
    globals(own);
    reporter_.warning(service->at, "smokescreen looks at no port: TLS on 443 and clear HTTP on 80 are carried over", {},
                      "a rule tcp://HOST:PORT for each other port that is used");
  }

 private:
  using Hosts = std::vector<std::pair<ImportedHost, Position>>;

  void tell_unknown(const YamlNode& map, std::initializer_list<std::string_view> known) {
    for (const auto& entry : map.entries)
      if (std::ranges::find(known, std::string_view(entry.key)) == known.end())
        reporter_.warning(entry.at, "not carried over", entry.key, "by hand what is meant");
  }

  const YamlNode* pick(std::vector<std::string>& head) {
    const YamlNode* services = find(root_, "services");
    const YamlNode* fallback = find(root_, "default");
    std::string names;
    const YamlNode* only = nullptr;
    std::size_t count = 0;
    if (services != nullptr) {
      for (const auto& service : services->items) {
        std::string name = text_of(find(service, "name"));
        if (!wishes_.role.empty() && name == wishes_.role) return head.push_back("The service " + name + "."), &service;
        names += (names.empty() ? "" : ", ") + escape_text(name, 60);
        only = &service;
        ++count;
      }
    }
    if (wishes_.role.empty() && count == 1 && fallback == nullptr)
      return head.push_back("Its only service, " + text_of(find(*only, "name")) + "."), only;
    if (wishes_.role == "default" || (wishes_.role.empty() && count == 0)) {
      if (fallback != nullptr) return head.push_back("The default, for services that are not listed."), fallback;
    }
    reporter_.error(
        services != nullptr ? services->at : root_.at,
        wishes_.role.empty() ? "there is more than one service, and a policy is for one" : "there is no such service",
        wishes_.role, "--role and one of: " + names + (fallback != nullptr ? ", default" : ""));
    return nullptr;
  }

  void action(const YamlNode& service, const Hosts& own) {
    std::string action = text_of(find(service, "action"));
    if (action == "enforce") return;
    if (action == "report" || action == "open") {
      reporter_.warning(service.at,
                        "the action " + action + " lets everything pass; carried over is its list alone (" +
                            std::to_string(own.size()) + "), enforced",
                        action, "rules for what else is needed: sallyport run shows what was denied");
      return;
    }
    reporter_.error(service.at, "an action is open, report or enforce", action, "one of them");
  }

  Hosts hosts(const YamlNode* list, std::string_view key) {
    Hosts out;
    if (list == nullptr || list->is_empty()) return out;
    if (!list->is_list()) {
      reporter_.error(list->at, std::string(key) + " is a list", {}, "- example.com");
      return out;
    }
    for (const auto& item : list->items) {
      auto host = item.is_scalar() ? imported_host(item.text) : std::nullopt;
      if (host && host->text != "*")
        out.emplace_back(*host, item.at);
      else
        reporter_.warning(item.at, "left out: no host, and no *. before one", item.text,
                          "example.com or *.example.com");
    }
    return out;
  }

  // The deny list takes from the allow list only: what the service lists itself stays.
  void globals(const Hosts& own) {
    auto allowed = hosts(find(root_, "global_allow_list"), "global_allow_list"),
         denied = hosts(find(root_, "global_deny_list"), "global_deny_list");
    const YamlNode* list = find(root_, "global_deny_list");
    if (list != nullptr && list->is_list() && denied.size() != list->items.size()) {
      if (!allowed.empty())
        reporter_.warning(list->at,
                          "the global allow list is left out, since not all of what takes from it could be read", {},
                          "by hand what is meant");
      return;
    }
    for (const auto& [host, at] : allowed) {
      bool gone = std::ranges::any_of(denied, [&](const auto& d) { return d.first.covers(host); });
      if (gone) continue;
      rules_.allow(host, at);
      for (const auto& [taken, taken_at] : denied) {
        if (!host.covers(taken)) continue;
        bool listed = std::ranges::any_of(own, [&](const auto& o) { return o.first.overlaps(taken); });
        if (listed)
          reporter_.warning(taken_at, "denied altogether: here a denial wins also over what the service lists itself",
                            taken.text, "the rules without it, if it is wanted");
        rules_.deny(taken, 0, taken_at);
      }
    }
  }

  const YamlNode& root_;
  const ImportWishes& wishes_;
  ImportedRules& rules_;
  Reporter& reporter_;
};

}  // namespace

void import_smokescreen(const YamlNode& root, const ImportWishes& wishes, ImportedRules& rules, Reporter& reporter,
                        std::vector<std::string>& head) {
  Reading(root, wishes, rules, reporter).run(head);
}

}  // namespace sallyport::policy::edit
