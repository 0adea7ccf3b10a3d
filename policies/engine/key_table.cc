#include "policies/engine/key_table.h"

#include <algorithm>
#include <string>
#include <vector>

#include "policies/engine/did_you_mean.h"

namespace sallyport::policy {
namespace {

std::string joined(std::span<const std::string_view> words) {
  std::string out;
  for (std::string_view word : words) {
    if (!out.empty()) out += ", ";
    out += word;
  }
  return out;
}

void report_unknown(const KeyTable& table, const YamlEntry& entry, Reporter& reporter) {
  std::vector<std::string_view> all(table.read.begin(), table.read.end());
  all.insert(all.end(), table.not_yet.begin(), table.not_yet.end());
  for (const KeyHint& hint : table.hints) all.push_back(hint.key);
  std::string message = "unknown key " + quoted(entry.key) + " in " + std::string(table.where);
  auto meant = did_you_mean(entry.key, all);
  auto hint = std::ranges::find(table.hints, meant, &KeyHint::key);
  if (hint != table.hints.end() && !meant.empty())
    reporter.error(entry.at, message + ": " + std::string(hint->sentence), entry.key, std::string(hint->advice));
  else if (!meant.empty())
    reporter.error(entry.at, message + ": did you mean '" + std::string(meant) + "'?", entry.key,
                   std::string(meant) + ":");
  else
    reporter.error(entry.at, message, entry.key, "one of " + joined(table.read));
}

}  // namespace

bool check_key(const KeyTable& table, const YamlEntry& entry, Reporter& reporter) {
  if (std::ranges::find(table.read, std::string_view(entry.key)) != table.read.end()) return true;
  if (std::ranges::find(table.not_yet, std::string_view(entry.key)) != table.not_yet.end()) {
    reporter.error(entry.at,
                   quoted(entry.key) + " in " + std::string(table.where) +
                       " is not supported yet, and what is not enforced is not accepted",
                   entry.key, "the policy without it");
    return false;
  }
  for (const KeyHint& hint : table.hints) {
    if (hint.key != entry.key) continue;
    reporter.error(entry.at, std::string(hint.sentence), entry.key, std::string(hint.advice));
    return false;
  }
  if (entry.key.find("://") != std::string::npos) {
    reporter.error(entry.at, "inside braces a comma ends the value before it", entry.key,
                   "the value in single quotes, or the keys on lines of their own");
    return false;
  }
  // {requests: 1,000}
  if (!entry.key.empty() && entry.key.front() >= '0' && entry.key.front() <= '9' && entry.value.is_empty()) {
    reporter.error(entry.at, "a comma separates entries, and a number is written in plain digits", entry.key,
                   "the number without commas, as in 1000");
    return false;
  }
  report_unknown(table, entry, reporter);
  return false;
}

bool require_map(const YamlNode& node, std::string_view name, std::string_view advice, Reporter& reporter) {
  if (node.is_map()) return true;
  std::string message = std::string(name) + " holds keys and values, " +
                        (node.is_empty() ? "and there is nothing" : "not " + std::string(kind_text(node)));
  reporter.error(node.at, std::move(message), node.text, std::string(advice));
  return false;
}

}  // namespace sallyport::policy
