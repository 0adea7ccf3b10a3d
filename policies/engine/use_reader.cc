#include "policies/engine/use_reader.h"

#include <re2/re2.h>

#include <algorithm>

#include "policies/catalogue/catalogue.h"
#include "policies/engine/catalogue_reader.h"
#include "policies/engine/did_you_mean.h"
#include "policies/engine/settings_reader.h"

namespace sallyport::policy {
namespace {

constexpr std::size_t kMaxUses = 64;

std::vector<std::string_view> names() {
  std::vector<std::string_view> out;
  for (const CatalogueText& entry : catalogue())
    if (out.empty() || out.back() != entry.name) out.push_back(entry.name);
  return out;
}

std::string newest(std::string_view name) { return std::string(name) + "/" + std::to_string(newest_version(name)); }

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != text.npos; at = text.find(what, at + by.size())) text.replace(at, what.size(), by);
}

class UseReading {
 public:
  UseReading(std::string_view task, Reporter& reporter) : task_(task), reporter_(reporter) {}

  void read(const YamlNode& item) {
    UsedEntry used;
    used.place.at = item.at;
    if (item.is_map() && item.entries.size() == 1) {
      if (!name(item.entries[0].key, item.entries[0].at, used.place)) return;
      if (!parameters(item.entries[0].value, used.place)) return;
    } else if (!item.is_scalar() || item.is_empty()) {
      return reporter_.error(item.at, "an entry of the catalogue is NAME/VERSION, alone or with parameters", item.text,
                             "- pypi/1, or - debian/1: {suite: bookworm}");
    } else if (!name(item.text, item.at, used.place)) {
      return;
    }
    expand(std::move(used));
  }

  std::vector<UsedEntry> take() { return std::move(used_); }

 private:
  bool refuse(Position at, std::string message, std::string_view read, std::string advice) {
    reporter_.error(at, std::move(message), read, std::move(advice));
    return false;
  }

  bool name(std::string_view text, Position at, UsePlace& place) {
    auto slash = text.find('/');
    auto alone = text.substr(0, slash);
    auto all = names();
    if (std::ranges::find(all, alone) == all.end()) {
      auto meant = did_you_mean(alone, all);
      std::string list;
      for (auto each : all) list += (list.empty() ? "" : ", ") + newest(each);
      return refuse(at, "the catalogue has no " + quoted(alone) + (meant.empty() ? "" : ": did you mean " + std::string(meant) + "?"), text,
                    meant.empty() ? "one of " + list : newest(meant));
    }
    if (slash == text.npos)
      return refuse(at, "an entry of the catalogue is used in a version, so that the policy means the same tomorrow", text, newest(alone));
    auto label = label_of(text);
    if (!label || !catalogue_text(label->name, label->version))
      return refuse(at, "the catalogue has no such version of " + std::string(alone), text, newest(alone));
    place.name = label->name;
    place.version = label->version;
    return true;
  }

  bool parameters(const YamlNode& node, UsePlace& place) {
    if (!node.is_map())
      return refuse(node.at, "after an entry of the catalogue stand its parameters", node.text, "- debian/1: {suite: bookworm}, or - debian/1");
    for (const YamlEntry& entry : node.entries) {
      if (!entry.value.is_scalar() || entry.value.text.empty())
        return refuse(entry.value.at, "a parameter is a text", entry.value.text, "{suite: bookworm}");
      place.parameters.emplace_back(entry.key, entry.value.text);
    }
    return true;
  }

  void expand(UsedEntry used) {
    Reporter quiet("catalogue");
    auto entry = read_catalogue_entry(*catalogue_text(used.place.name, used.place.version), quiet);
    // The catalogue is a part of the program and tested with it.
    if (!entry) return reporter_.error(used.place.at, "this entry of the catalogue cannot be read", {}, "another version");
    if (!check_parameters(*entry, used.place)) return;
    std::string prefix = prefix_of(*entry, used.place);
    if (prefix.empty()) return;
    for (CatalogueRule& rule : entry->rules) {
      fill_in(*entry, used.place, rule.node);
      auto read = read_rule(rule.node, 0, task_, quiet);
      if (!read || quiet.failed()) return report_failed(used.place, quiet);
      read->rule.id = prefix + "/" + rule.id;
      read->rule.origin = entry->label;
      read->rule.line = used.place.at.line;
      read->at = used.place.at;
      used.rules.push_back(*std::move(read));
    }
    used.note = entry->label + ": " + entry->note;
    if (entry->note.empty()) used.note.clear();
    used_.push_back(std::move(used));
  }

  // A parameter that its regex takes may still make a destination that nobody can use.
  void report_failed(const UsePlace& place, Reporter& quiet) {
    auto why = quiet.take();
    reporter_.error(place.at, place.label() + " with these parameters: " + (why.empty() ? "no destination" : why.front().message),
                    why.empty() ? std::string() : why.front().read, "other parameters");
  }

  // "pypi/1", and for the same entry with other parameters "debian/1.2"; empty, and reported, for the same again.
  std::string prefix_of(const CatalogueEntry& entry, const UsePlace& place) {
    int times = 1;
    for (const UsedEntry& earlier : used_) {
      if (earlier.place.label() != entry.label) continue;
      ++times;
      if (earlier.place.parameters != place.parameters) continue;
      refuse(place.at, entry.label + " stands twice, first in line " + std::to_string(earlier.place.at.line), entry.label, "it once");
      return {};
    }
    return times == 1 ? entry.label : entry.label + "." + std::to_string(times);
  }

  bool check_parameters(const CatalogueEntry& entry, const UsePlace& place) {
    std::string known;
    for (const auto& parameter : entry.parameters) known += (known.empty() ? "" : ", ") + parameter.name;
    for (const auto& [key, value] : place.parameters) {
      auto found = std::ranges::find(entry.parameters, key, &CatalogueParameter::name);
      if (found == entry.parameters.end())
        return refuse(place.at, entry.label + " has no parameter " + quoted(key), key,
                      known.empty() ? "- " + entry.label : "its parameters: " + known);
      if (!RE2::FullMatch(value, found->regex))
        return refuse(place.at, "the parameter " + found->name + " of " + entry.label + " (" + found->about + ") is another kind of text", value,
                      found->name + ": " + found->standard);
    }
    return true;
  }

  static void fill_in(const CatalogueEntry& entry, const UsePlace& place, YamlNode& rule) {
    for (YamlEntry& each : rule.entries) {
      if (each.key != "allow") continue;
      for (const auto& parameter : entry.parameters) {
        std::string value = parameter.standard;
        for (const auto& [key, given] : place.parameters)
          if (key == parameter.name) value = given;
        replace_all(each.value.text, "{" + parameter.name + "}", value);
      }
    }
  }

  std::string_view task_;
  Reporter& reporter_;
  std::vector<UsedEntry> used_;
};

}  // namespace

namespace {

// What was meant by an entry that stands alone and not in a list: with a version, since nothing else loads.
std::string in_a_list(std::string_view text) {
  auto label = label_of(text);
  if (label && catalogue_text(label->name, label->version)) return "use: [" + std::string(text) + "]";
  auto all = names();
  auto alone = text.substr(0, text.find('/'));
  auto meant = std::ranges::find(all, alone) != all.end() ? alone : did_you_mean(alone, all);
  return "use: [" + newest(meant.empty() ? "pypi" : meant) + "]";
}

}  // namespace

std::vector<UsedEntry> read_use(const YamlNode& node, std::string_view task, Reporter& reporter) {
  if (!node.is_list() || node.items.empty() || node.items.size() > kMaxUses) {
    std::string advice = node.is_scalar() && !node.text.empty() ? in_a_list(node.text) : "use: [pypi/1]";
    reporter.error(node.at, "use: holds a list of 1 to 64 entries of the catalogue", node.text, std::move(advice));
    return {};
  }
  UseReading reading(task, reporter);
  for (const YamlNode& item : node.items) reading.read(item);
  return reading.take();
}

}  // namespace sallyport::policy
