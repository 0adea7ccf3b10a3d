#include "tests/holes/hole.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <nftables/libnftables.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>

#include "core/base/ip_address.h"
#include "firewall/api/channel.h"
#include "firewall/inspect/links.h"
#include "firewall/inspect/netlink.h"

namespace sallyport::holes {

namespace {

using firewall::Netlink;

constexpr std::uint16_t kImpostorPort = 15002;

Result<void> nft(const char* command) {
  nft_ctx* context = ::nft_ctx_new(NFT_CTX_DEFAULT);
  int failed = context ? ::nft_run_cmd_from_buffer(context, command) : -1;
  if (context) ::nft_ctx_free(context);
  if (failed == 0) return success();
  return fail(ErrorKind::kInternal, std::string("hole: nft ") + command);
}

struct Request {
  explicit Request(std::uint16_t type, int flags) : head(mnl_nlmsg_put_header(buffer.data())) {
    head->nlmsg_type = type;
    head->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
  }
  alignas(nlmsghdr) std::array<char, 1024> buffer{};
  nlmsghdr* head;
};

Result<void> ask(Request& request) {
  BOOST_OUTCOME_TRY(Netlink netlink, Netlink::open(NETLINK_ROUTE));
  return netlink.ask(*request.head);
}

Result<unsigned> index_of(std::string_view name) {
  BOOST_OUTCOME_TRY(auto links, firewall::list_links());
  for (const firewall::Link& link : links) {
    if (link.name == name) return link.index;
  }
  return fail(ErrorKind::kInternal, "hole: no interface " + std::string(name));
}

Result<void> bring_up(std::string_view name) {
  BOOST_OUTCOME_TRY(unsigned index, index_of(name));
  Request request(RTM_NEWLINK, 0);
  auto* link = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(request.head, sizeof(ifinfomsg)));
  link->ifi_index = static_cast<int>(index);
  link->ifi_flags = link->ifi_change = IFF_UP;
  return ask(request);
}

// A pair with both ends inside: the way to a namespace beyond would look the same from here.
Result<void> add_veth() {
  Request request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
  mnl_nlmsg_put_extra_header(request.head, sizeof(ifinfomsg));
  mnl_attr_put_strz(request.head, IFLA_IFNAME, "eth0");
  nlattr* info = mnl_attr_nest_start(request.head, IFLA_LINKINFO);
  mnl_attr_put_strz(request.head, IFLA_INFO_KIND, "veth");
  nlattr* data = mnl_attr_nest_start(request.head, IFLA_INFO_DATA);
  nlattr* peer = mnl_attr_nest_start(request.head, VETH_INFO_PEER);
  mnl_nlmsg_put_extra_header(request.head, sizeof(ifinfomsg));
  mnl_attr_put_strz(request.head, IFLA_IFNAME, "eth1");
  mnl_attr_nest_end(request.head, peer);
  mnl_attr_nest_end(request.head, data);
  mnl_attr_nest_end(request.head, info);
  BOOST_OUTCOME_TRY(ask(request));
  BOOST_OUTCOME_TRY(bring_up("eth0"));
  return bring_up("eth1");
}

Result<void> change_route(std::uint16_t change, const IpPrefix& to, std::uint8_t type, std::string_view interface) {
  BOOST_OUTCOME_TRY(unsigned index, index_of(interface));
  Request request(change, change == RTM_NEWROUTE ? NLM_F_CREATE | NLM_F_EXCL : 0);
  auto* route = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(request.head, sizeof(rtmsg)));
  bool is_v4 = to.base().is_v4();
  route->rtm_family = is_v4 ? AF_INET : AF_INET6;
  route->rtm_dst_len = static_cast<unsigned char>(to.length());
  route->rtm_table = RT_TABLE_LOCAL;
  route->rtm_type = type;
  route->rtm_protocol = RTPROT_BOOT;
  route->rtm_scope = change == RTM_DELROUTE ? RT_SCOPE_NOWHERE : is_v4 ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
  if (to.length() > 0) mnl_attr_put(request.head, RTA_DST, to.base().bytes().size(), to.base().bytes().data());
  mnl_attr_put_u32(request.head, RTA_OIF, index);
  return ask(request);
}

Result<void> route_by_veth(const char* prefix) {
  BOOST_OUTCOME_TRY(IpPrefix to, IpPrefix::parse(prefix));
  BOOST_OUTCOME_TRY(add_veth());
  if (to.length() == 0) {
    BOOST_OUTCOME_TRY(change_route(RTM_DELROUTE, to, RTN_LOCAL, "lo"));
  }
  return change_route(RTM_NEWROUTE, to, RTN_UNICAST, "eth0");
}

[[noreturn]] void be_impostor(int channel) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::close(3);  // control must see the end of attach, not ours
  std::byte unused{};
  auto listener = firewall::receive_frame(channel, std::span(&unused, 1), 1, Deadline::never());
  if (!listener) ::_exit(0);
  for (;;) {
    int accepted = ::accept(listener.value()[0].get(), nullptr, nullptr);
    char heard[256];
    if (accepted < 0) ::_exit(1);
    if (::recv(accepted, heard, sizeof heard, 0) > 0) (void)::send(accepted, "OK\n", 3, MSG_NOSIGNAL);
    ::close(accepted);
  }
}

Result<void> add_foreign_listener(const UniqueFd& impostor) {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM, 0));
  int one = 1;
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(kImpostorPort);
  if (::setsockopt(listener.get(), IPPROTO_IP, IP_TRANSPARENT, &one, sizeof one) != 0 ||
      ::bind(listener.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 || ::listen(listener.get(), 16) != 0) {
    return fail_errno("hole: listener");
  }
  std::byte unused{};
  const int fd = listener.get();
  BOOST_OUTCOME_TRY(firewall::send_frame(impostor.get(), std::span(&unused, 1), std::span(&fd, 1),
                                         Deadline::after(std::chrono::seconds(1))));
  return nft("insert rule inet sallyport caught_tcp ip daddr 192.0.2.1 meta l4proto tcp tproxy ip to :15002 accept");
}

}  // namespace

Result<UniqueFd> start_impostor() {
  int pair[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return fail_errno("hole: socketpair");
  UniqueFd ours(pair[0]), theirs(pair[1]);
  pid_t child = ::fork();
  if (child < 0) return fail_errno("hole: fork");
  if (child > 0) return ours;
  ours.reset();
  be_impostor(theirs.get());
}

Result<void> make_hole(std::string_view name, const UniqueFd& impostor) {
  if (name == "none") return success();
  if (name == "veth") return route_by_veth("0.0.0.0/0");
  if (name == "flush") return nft("flush ruleset");
  if (name == "udp") return nft("insert rule inet sallyport leaving meta l4proto udp accept");
  if (name == "ipv6-route") return route_by_veth("::/0");
  if (name == "metadata-route") return route_by_veth("169.254.169.254/32");
  if (name == "foreign-listener") return add_foreign_listener(impostor);
  return fail(ErrorKind::kInvalid,
              "unknown hole: veth, flush, udp, ipv6-route, metadata-route, foreign-listener or none");
}

}  // namespace sallyport::holes
