#include "policies/engine/quantity.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

namespace sallyport::policy {
namespace {

struct Unit {
  std::string_view text;
  std::uint64_t factor;
};

constexpr std::array kSizes{Unit{"B", 1}, Unit{"KiB", 1u << 10}, Unit{"MiB", 1u << 20}, Unit{"GiB", 1u << 30}};
constexpr std::array kTimes{Unit{"s", 1}, Unit{"m", 60}, Unit{"h", 3600}};

// How people write units that are not ours, and the one to write.
struct Foreign {
  std::string_view text;
  std::string_view instead;
};
constexpr std::array kForeignSizes{Foreign{"k", "KiB"}, Foreign{"kb", "KiB"}, Foreign{"kib", "KiB"},
                                   Foreign{"m", "MiB"}, Foreign{"mb", "MiB"}, Foreign{"mib", "MiB"},
                                   Foreign{"g", "GiB"}, Foreign{"gb", "GiB"}, Foreign{"gib", "GiB"},
                                   Foreign{"b", "B"},   Foreign{"bytes", "B"}};
constexpr std::array kForeignTimes{Foreign{"sec", "s"},     Foreign{"secs", "s"},    Foreign{"second", "s"},
                                   Foreign{"seconds", "s"}, Foreign{"min", "m"},     Foreign{"mins", "m"},
                                   Foreign{"minute", "m"},  Foreign{"minutes", "m"}, Foreign{"hr", "h"},
                                   Foreign{"hour", "h"},    Foreign{"hours", "h"}};

struct Kind {
  std::string_view noun;     // "a size"
  std::string_view example;  // "50MiB"
  std::string_view units;    // for a number without one
  std::span<const Unit> known;
  std::span<const Foreign> foreign;
  std::uint64_t most;
  std::string_view most_text;
};

constexpr Kind kSize{"a size",    "digits and B, KiB, MiB or GiB, as in 50MiB", "MiB", kSizes, kForeignSizes, kMaxBytes,
                     "1048576GiB"};
constexpr Kind kTime{"a duration",  "digits and s, m or h, as in 90s or 30m",         "s",    kTimes,
                     kForeignTimes, static_cast<std::uint64_t>(kMaxDuration.count()), "8784h"};
constexpr Kind kCount{"a count", "digits only, as in 200", "", {}, {}, kMaxCount, "1000000000000"};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

class Reading {
 public:
  Reading(const YamlNode& node, std::string_view key, const Kind& kind, Reporter& reporter)
      : node_(node), key_(key), kind_(kind), reporter_(reporter) {}

  std::optional<std::uint64_t> value() {
    if (!node_.is_scalar() || node_.is_empty())
      return refuse("needs " + std::string(kind_.noun) + ", not " + std::string(kind_text(node_)));
    std::string_view text = node_.text;
    auto end = std::ranges::find_if_not(text, [](char c) { return c >= '0' && c <= '9'; });
    auto digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    auto unit = text.substr(digits.size());
    if (digits.empty()) return word(text);
    if (auto fault = trap(digits, unit)) return fault->empty() ? std::nullopt : refuse(*fault);
    auto number = parse_decimal(digits);
    if (!number) return too_large();
    auto factor = factor_of(digits, unit);
    if (!factor) return std::nullopt;
    if (number.value() > kind_.most / *factor) return too_large();
    return number.value() * *factor;
  }

 private:
  std::optional<std::uint64_t> refuse(std::string message, std::string advice = {}) {
    if (advice.empty()) advice = kind_.example;
    reporter_.error(node_.at, std::string(key_) + " " + message, node_.text, std::move(advice));
    return std::nullopt;
  }

  std::optional<std::uint64_t> too_large() { return refuse("is more than " + std::string(kind_.most_text)); }

  std::optional<std::uint64_t> word(std::string_view text) {
    std::string small = lower(text);
    for (std::string_view none : {"none", "unlimited", "infinite", "inf", "off", "no", "~", "null", ".inf"})
      if (small == none)
        return refuse("without a limit is written by leaving the key out", "the policy without the key");
    if (text.starts_with('-') || text.starts_with('+')) return refuse("has a sign");
    return refuse("is not " + std::string(kind_.noun));
  }

  // Spellings that look like a quantity and are not; an empty string when the fault is already reported.
  std::optional<std::string> trap(std::string_view digits, std::string_view unit) {
    bool is_time = kind_.known.data() == kTimes.data();
    if (unit.starts_with(':')) {
      refuse(is_time ? "with colons is not read: it would be ambiguous" : "is not " + std::string(kind_.noun),
             is_time ? "one number and one unit, as in 90m or 5400s" : std::string(kind_.example));
      return "";
    }
    if (digits.size() > 1 && digits[0] == '0') {
      auto first = digits.find_first_not_of('0');
      std::string plain(first == std::string_view::npos ? "0" : digits.substr(first));
      refuse("has a leading zero: it is not octal here, and not allowed", plain + std::string(unit));
      return "";
    }
    bool is_zero =
        digits == "0" && (unit.empty() || std::ranges::find(kind_.known, unit, &Unit::text) != kind_.known.end());
    if (is_zero) {
      refuse("of 0 would let nothing through", "a larger one, or no allow rule at all");
      return "";
    }
    if (unit.starts_with('.')) return "is not a whole number";
    if (unit.starts_with(',') || unit.starts_with('_')) return "has a separator between its digits";
    return std::nullopt;
  }

  std::optional<std::uint64_t> factor_of(std::string_view digits, std::string_view unit) {
    if (kind_.known.empty()) {
      if (unit.empty()) return 1;
      return refuse("is not a count");
    }
    for (const Unit& known : kind_.known)
      if (known.text == unit) return known.factor;
    std::string number(digits);
    if (unit.empty())
      return refuse("has no unit", number + std::string(kind_.units) + " (" + std::string(kind_.example) + ")");
    auto spelled = lower(unit.substr(std::min(unit.find_first_not_of(' '), unit.size())));
    if (spelled == "d" || spelled == "day" || spelled == "days")
      return refuse("is written in hours", std::to_string(24) + "h a day");
    for (const Foreign& foreign : kind_.foreign)
      if (foreign.text == spelled) return refuse("has a unit that is not read", number + std::string(foreign.instead));
    for (const Unit& known : kind_.known)
      if (known.text == spelled)
        return refuse("has a space or another case in its unit", number + std::string(known.text));
    return refuse("has a unit that is not read");
  }

  const YamlNode& node_;
  std::string_view key_;
  const Kind& kind_;
  Reporter& reporter_;
};

}  // namespace

std::optional<std::uint64_t> read_count(const YamlNode& node, std::string_view key, Reporter& reporter) {
  return Reading(node, key, kCount, reporter).value();
}

std::optional<ByteCount> read_size(const YamlNode& node, std::string_view key, Reporter& reporter) {
  auto value = Reading(node, key, kSize, reporter).value();
  if (!value) return std::nullopt;
  return ByteCount{*value};
}

std::optional<std::chrono::seconds> read_duration(const YamlNode& node, std::string_view key, Reporter& reporter) {
  auto value = Reading(node, key, kTime, reporter).value();
  if (!value) return std::nullopt;
  return std::chrono::seconds(*value);
}

}  // namespace sallyport::policy
