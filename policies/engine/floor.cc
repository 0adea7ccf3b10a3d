#include "policies/engine/floor.h"

#include <algorithm>
#include <array>
#include <string_view>

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
constexpr std::array kFloorAddresses{Text("169.254.169.254"), Text("169.254.170.2"),   Text("169.254.170.23"),
                                     Text("169.254.169.253"), Text("169.254.169.123"), Text("100.100.100.200"),
                                     Text("168.63.129.16"),   Text("192.0.0.192"),     Text("fd00:ec2::254"),
                                     Text("fd00:ec2::23"),    Text("fd20:ce::254"),    Text("fe80::a9fe:a9fe")};
constexpr std::array kNeverResolved{Text("localhost"), Text("invalid"), Text("onion"), Text("alt")};

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

bool is_floor(const IpAddress& address) noexcept {
  std::string text = address.text();
  return std::ranges::find(kFloorAddresses, Text(text)) != kFloorAddresses.end();
}

bool is_never_resolved(const HostName& name) noexcept {
  return std::ranges::any_of(kNeverResolved, [&](Text apex) { return is_or_is_below(name.text(), apex); });
}

bool is_own_name(const HostName& name) noexcept { return is_or_is_below(name.text(), "sallyport.internal"); }

}  // namespace sallyport::policy
