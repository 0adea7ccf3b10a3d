// The catalogue: ready-made grants that a policy names in `use:`, as texts. What they mean is read by policies/engine.
//
// An entry never changes once it is published under a version: a policy that names "pypi/1" means the same in every release.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sallyport::policy {

struct CatalogueText {
  std::string_view name;
  std::uint32_t version;
  std::string_view text;
};

// By name, then by version.
std::span<const CatalogueText> catalogue() noexcept;
// Nothing when there is no such entry.
std::optional<std::string_view> catalogue_text(std::string_view name, std::uint32_t version) noexcept;
// 0 when there is no entry of that name.
std::uint32_t newest_version(std::string_view name) noexcept;

}  // namespace sallyport::policy
