// Counts, sizes and durations as policy files write them.
//
//   count     digits                        200
//   size      digits and B, KiB, MiB, GiB   50MiB
//   duration  digits and s, m, h            30m
//
// No other unit, no fraction, no space, no leading zero, and never 0: a limit of nothing is a denial.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/base/units.h"
#include "policies/engine/yaml_tree.h"

namespace sallyport::policy {

inline constexpr std::uint64_t kMaxCount = 1'000'000'000'000;
inline constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 50;    // 1 PiB
inline constexpr std::chrono::seconds kMaxDuration{366 * 24 * 3600};  // a leap year

// Each reports and gives nothing when `node` is something else. `key` names it in the message.
std::optional<std::uint64_t> read_count(const YamlNode& node, std::string_view key, Reporter& reporter);
std::optional<ByteCount> read_size(const YamlNode& node, std::string_view key, Reporter& reporter);
std::optional<std::chrono::seconds> read_duration(const YamlNode& node, std::string_view key, Reporter& reporter);

}  // namespace sallyport::policy
