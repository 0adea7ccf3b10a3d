#include "policies/catalogue/catalogue.h"

#include <algorithm>

namespace sallyport::policy {

std::optional<std::string_view> catalogue_text(std::string_view name, std::uint32_t version) noexcept {
  for (const CatalogueText& entry : catalogue())
    if (entry.name == name && entry.version == version) return entry.text;
  return std::nullopt;
}

std::uint32_t newest_version(std::string_view name) noexcept {
  std::uint32_t newest = 0;
  for (const CatalogueText& entry : catalogue())
    if (entry.name == name) newest = std::max(newest, entry.version);
  return newest;
}

}  // namespace sallyport::policy
