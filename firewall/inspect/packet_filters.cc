#include "firewall/inspect/packet_filters.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <array>
#include <cerrno>
#include <utility>

#include "firewall/inspect/netlink.h"
#include "firewall/inspect/text_file.h"

namespace sallyport::firewall {

namespace {

constexpr std::uint16_t message_type(std::uint16_t message) noexcept {
  return static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | message);
}

std::string family_name(std::uint8_t family) {
  switch (family) {
    case NFPROTO_INET:
      return "inet";
    case NFPROTO_IPV4:
      return "ip";
    case NFPROTO_IPV6:
      return "ip6";
    case NFPROTO_ARP:
      return "arp";
    case NFPROTO_BRIDGE:
      return "bridge";
    case NFPROTO_NETDEV:
      return "netdev";
    default:
      return "family " + std::to_string(family);
  }
}

Result<void> append_nft(std::vector<FilterTable>& tables) {
  BOOST_OUTCOME_TRY(Netlink netlink, Netlink::open(NETLINK_NETFILTER));
  return netlink.dump(message_type(NFT_MSG_GETTABLE), NFPROTO_UNSPEC, sizeof(nfgenmsg),
                      [&](const nlmsghdr& message) -> Result<void> {
                        if (message.nlmsg_type != message_type(NFT_MSG_NEWTABLE)) return success();
                        const auto& head = *static_cast<const nfgenmsg*>(mnl_nlmsg_get_payload(&message));
                        FilterTable table{family_name(head.nfgen_family), ""};
                        each_attribute(message, sizeof head, [&](std::uint16_t type, const nlattr& attribute) {
                          if (type == NFTA_TABLE_NAME && mnl_attr_validate(&attribute, MNL_TYPE_NUL_STRING) == 0)
                            table.name = mnl_attr_get_str(&attribute);
                        });
                        tables.push_back(std::move(table));
                        return success();
                      });
}

// One name a line; the file is there once the family's module is loaded.
Result<void> append_legacy(const char* file, const char* family, UnreadableLegacy unreadable,
                           std::vector<FilterTable>& tables) {
  auto text = read_text_file(std::string("/proc/thread-self/net/") + file);
  if (!text) {
    if (text.error().code == ENOENT) return success();
    if (text.error().code == EACCES && unreadable == UnreadableLegacy::kPassOver) return success();
    return fail(ErrorKind::kUnavailable, "cannot list the namespace's iptables tables: " + text.error().detail);
  }
  std::string_view left = text.value();
  while (!left.empty()) {
    std::size_t end = std::min(left.find('\n'), left.size());
    if (end > 0) tables.push_back({family, std::string(left.substr(0, end))});
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return success();
}

}  // namespace

Result<std::vector<FilterTable>> list_filter_tables(UnreadableLegacy unreadable) {
  std::vector<FilterTable> tables;
  BOOST_OUTCOME_TRY(append_nft(tables));
  BOOST_OUTCOME_TRY(append_legacy("ip_tables_names", "legacy ip", unreadable, tables));
  BOOST_OUTCOME_TRY(append_legacy("ip6_tables_names", "legacy ip6", unreadable, tables));
  BOOST_OUTCOME_TRY(append_legacy("arp_tables_names", "legacy arp", unreadable, tables));
  return tables;
}

Result<std::uint32_t> nft_generation() {
  BOOST_OUTCOME_TRY(Netlink netlink, Netlink::open(NETLINK_NETFILTER));
  alignas(nlmsghdr) std::array<char, 256> buffer{};
  nlmsghdr* request = mnl_nlmsg_put_header(buffer.data());
  request->nlmsg_type = message_type(NFT_MSG_GETGEN);
  request->nlmsg_flags = NLM_F_ACK;
  mnl_nlmsg_put_extra_header(request, sizeof(nfgenmsg));
  std::uint32_t generation = 0;
  bool found = false;
  BOOST_OUTCOME_TRY(netlink.ask(*request, [&](const nlmsghdr& message) -> Result<void> {
    if (message.nlmsg_type != message_type(NFT_MSG_NEWGEN)) return success();
    each_attribute(message, sizeof(nfgenmsg), [&](std::uint16_t type, const nlattr& attribute) {
      if (type != NFTA_GEN_ID || mnl_attr_get_payload_len(&attribute) != 4) return;
      generation = ntohl(mnl_attr_get_u32(&attribute));
      found = true;
    });
    return success();
  }));
  if (!found) return fail(ErrorKind::kUnavailable, "the kernel does not tell the generation of its nftables rules");
  return generation;
}

}  // namespace sallyport::firewall
