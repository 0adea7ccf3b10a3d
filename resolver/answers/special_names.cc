#include "resolver/answers/special_names.h"

#include <algorithm>

#include "policies/engine/floor.h"

namespace sallyport::resolver {
namespace {

bool is_or_is_below(std::string_view name, std::string_view apex) noexcept {
  if (!name.ends_with(apex)) return false;
  return name.size() == apex.size() || name[name.size() - apex.size() - 1] == '.';
}

// RFC 6762, RFC 6761 section 6.4, RFC 7686, RFC 9476.
constexpr std::string_view kNowhere[] = {"local", "invalid", "onion", "alt"};

}  // namespace

SpecialName special_name(const HostName& name) noexcept {
  std::string_view text = name.text();
  if (text == kInternalName) return SpecialName::kInternal;
  if (policy::is_floor(name)) return SpecialName::kFloor;
  if (is_or_is_below(text, "localhost")) return SpecialName::kLocalhost;
  if (is_or_is_below(text, "in-addr.arpa") || is_or_is_below(text, "ip6.arpa")) return SpecialName::kReverse;
  // home.arpa is a name of the local network that a policy may allow (RFC 8375); nothing else under arpa names a host.
  if (is_or_is_below(text, "arpa") && !is_or_is_below(text, "home.arpa")) return SpecialName::kNowhere;
  if (is_or_is_below(text, kInternalName)) return SpecialName::kNowhere;
  if (is_or_is_below(text, "use-application-dns.net")) return SpecialName::kDohSwitch;
  bool nowhere = std::ranges::any_of(kNowhere, [&](std::string_view apex) { return is_or_is_below(text, apex); });
  return nowhere ? SpecialName::kNowhere : SpecialName::kNone;
}

}  // namespace sallyport::resolver
