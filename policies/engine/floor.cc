#include "policies/engine/floor.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/metadata_services.h"

namespace sallyport::policy {
namespace {

using Text = std::string_view;
constexpr std::array kFloorNames{Text("metadata"),
                                 Text("metadata.google.internal"),
                                 Text("metadata.goog"),
                                 Text("instance-data"),
                                 Text("instance-data.ec2.internal"),
                                 Text("metadata.azure.internal"),
                                 Text("metadata.tencentyun.com"),
                                 Text("metadata.platformequinix.com")};
constexpr std::array kNeverResolved{Text("localhost"), Text("local"), Text("invalid"), Text("onion"), Text("alt"), Text("arpa"),
                                    Text("use-application-dns.net")};

bool is_or_is_below(Text name, Text apex) noexcept {
  if (!name.ends_with(apex)) return false;
  return name.size() == apex.size() || name[name.size() - apex.size() - 1] == '.';
}

}  // namespace

bool is_floor(const HostName& name) noexcept {
  return std::ranges::any_of(kFloorNames, [&](Text apex) {
    // A single label is a search-list name: only itself.
    return apex.find('.') == Text::npos ? name.text() == apex : is_or_is_below(name.text(), apex);
  });
}

bool is_floor(const IpAddress& address) noexcept { return is_metadata_service(address); }

bool is_never_resolved(const HostName& name) noexcept {
  // A name of the local network that a policy may allow (RFC 8375); nothing else under arpa names a host.
  if (is_or_is_below(name.text(), "home.arpa")) return false;
  return std::ranges::any_of(kNeverResolved, [&](Text apex) { return is_or_is_below(name.text(), apex); });
}

bool is_own_name(const HostName& name) noexcept { return is_or_is_below(name.text(), "sallyport.internal"); }

}  // namespace sallyport::policy
