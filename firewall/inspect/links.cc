#include "firewall/inspect/links.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "firewall/inspect/netlink.h"

namespace sallyport::firewall {

namespace {

std::string text_of(const nlattr& attribute) {
  std::string_view text(static_cast<const char*>(mnl_attr_get_payload(&attribute)),
                        mnl_attr_get_payload_len(&attribute));
  return std::string(text.substr(0, text.find('\0')));
}

Link link_of(const nlmsghdr& message) {
  const auto& head = *static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(&message));
  Link link;
  link.index = static_cast<unsigned>(head.ifi_index);
  link.is_loopback = head.ifi_type == ARPHRD_LOOPBACK && (head.ifi_flags & IFF_LOOPBACK) != 0;
  link.is_up = (head.ifi_flags & IFF_UP) != 0;
  each_attribute(message, sizeof head, [&](std::uint16_t type, const nlattr& attribute) {
    if (type == IFLA_IFNAME) link.name = text_of(attribute);
    if (type == IFLA_LINK_NETNSID) link.reaches_another_namespace = true;
    if (type != IFLA_LINKINFO) return;
    each_nested(attribute, [&](std::uint16_t inner, const nlattr& info) {
      if (inner == IFLA_INFO_KIND) link.kind = text_of(info);
    });
  });
  return link;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kFallbackTunnels{{
    {"tunl0", "ipip"},
    {"gre0", "gre"},
    {"gretap0", "gretap"},
    {"erspan0", "erspan"},
    {"ip_vti0", "vti"},
    {"ip6_vti0", "vti6"},
    {"sit0", "sit"},
    {"ip6tnl0", "ip6tnl"},
    {"ip6gre0", "ip6gre"},
}};

}  // namespace

Result<std::vector<Link>> list_links() {
  BOOST_OUTCOME_TRY(Netlink netlink, Netlink::open(NETLINK_ROUTE));
  std::vector<Link> links;
  BOOST_OUTCOME_TRY(
      netlink.dump(RTM_GETLINK, AF_UNSPEC, sizeof(ifinfomsg), [&](const nlmsghdr& message) -> Result<void> {
        if (message.nlmsg_type == RTM_NEWLINK) links.push_back(link_of(message));
        return success();
      }));
  return links;
}

bool is_lo(const Link& link) noexcept { return link.index == 1 && link.is_loopback && link.name == "lo"; }

bool is_idle_fallback_tunnel(const Link& link) noexcept {
  if (link.is_up || link.is_loopback || link.reaches_another_namespace) return false;
  return std::ranges::any_of(kFallbackTunnels,
                             [&](const auto& known) { return link.name == known.first && link.kind == known.second; });
}

}  // namespace sallyport::firewall
