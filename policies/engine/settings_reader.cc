#include "policies/engine/settings_reader.h"

#include <algorithm>
#include <array>

#include "policies/engine/key_table.h"
#include "policies/engine/language_keys.h"
#include "policies/engine/quantity.h"

namespace sallyport::policy {
namespace {

using Text = std::string_view;

constexpr std::array kKeys{Text("end_after")};
constexpr std::array kHints{KeyHint{"end", "the task ends after a number of denials", "end_after: 50"},
                            KeyHint{"after", "the task ends after a number of denials", "end_after: 50"},
                            KeyHint{"max", "the task ends after a number of denials", "end_after: 50"}};
constexpr KeyTable kOnDenial{"on_denial", kKeys, {}, kHints};
constexpr std::uint64_t kMaxVersion = 1'000'000'000;

bool is_name(Text text) {
  return !text.empty() && text.size() <= 64 && text.front() != '-' &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

}  // namespace

KeyTable on_denial_keys() noexcept { return kOnDenial; }

std::optional<Label> label_of(Text text) {
  auto slash = text.find('/');
  if (slash == text.npos || !is_name(text.substr(0, slash))) return std::nullopt;
  auto number = parse_decimal(text.substr(slash + 1));
  if (!number || number.value() < 1 || number.value() > kMaxVersion) return std::nullopt;
  return Label{std::string(text.substr(0, slash)), static_cast<std::uint32_t>(number.value())};
}

std::optional<Label> read_identity(const YamlNode& node, Reporter& reporter) {
  auto label = node.is_scalar() ? label_of(node.text) : std::nullopt;
  if (label) return label;
  std::string advice = is_name(node.text) ? "policy: " + node.text + "/1" : "policy: catalog-report/3";
  reporter.error(node.at, "a policy is named NAME/VERSION: a-z, 0-9 and - in the name, a number from 1", node.text,
                 advice);
  return std::nullopt;
}

std::optional<DeniedNames> read_denied(const YamlNode& node, Reporter& reporter) {
  if (node.is_scalar() && node.text == "nxdomain") return DeniedNames::kNxdomain;
  if (node.is_scalar() && node.text == "explain") return DeniedNames::kExplain;
  reporter.error(node.at, "denied says how a name is answered that the policy denies", node.text,
                 "denied: nxdomain (there is no such name), or denied: explain (connections to it get the refusal)");
  return std::nullopt;
}

std::optional<std::uint64_t> read_on_denial(const YamlNode& node, Reporter& reporter) {
  std::optional<std::uint64_t> end_after;
  if (!require_map(node, "on_denial", "on_denial: {end_after: 50}", reporter)) return end_after;
  for (const YamlEntry& entry : node.entries)
    if (check_key(kOnDenial, entry, reporter)) end_after = read_count(entry.value, "end_after", reporter);
  return end_after;
}

std::optional<Label> read_within(const YamlNode& node, const CompiledPolicy* ceiling, Reporter& reporter) {
  auto refuse = [&](std::string message, std::string advice) {
    reporter.error(node.at, std::move(message), node.text, std::move(advice));
    return std::nullopt;
  };
  auto label = node.is_scalar() ? label_of(node.text) : std::nullopt;
  if (!label)
    return refuse("within names the policy that this one has to stay within, as NAME/VERSION; its file is a matter of the appliance",
                  ceiling != nullptr ? "within: " + ceiling->label() : "within: company-baseline/1");
  if (ceiling == nullptr)
    return refuse("this policy has to stay within another, and none is set",
                  "within: FILE in the appliance's configuration, or --ceiling FILE, with the file of that policy");
  if (label->name != ceiling->name() || label->version != ceiling->version())
    return refuse("this policy has to stay within " + quoted(node.text) + ", and " + ceiling->label() + " is set", "within: " + ceiling->label());
  return label;
}

}  // namespace sallyport::policy
