#include "firewall/addresses/configure.h"

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <array>
#include <ctime>
#include <string>

#include "core/base/deadline.h"
#include "core/base/ip_address.h"
#include "firewall/api/plan.h"
#include "firewall/inspect/netlink.h"
#include "firewall/inspect/text_file.h"

namespace sallyport::firewall {

namespace {

constexpr int kLo = 1;
constexpr auto kRoutesLimit = std::chrono::milliseconds(500);

// A request under construction, with its acknowledgement asked for.
class Request {
 public:
  explicit Request(std::uint16_t type, std::uint16_t flags) : head_(mnl_nlmsg_put_header(buffer_.data())) {
    head_->nlmsg_type = type;
    head_->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  template <class Header>
  Header& payload() {
    return *static_cast<Header*>(mnl_nlmsg_put_extra_header(head_, sizeof(Header)));
  }
  void put(std::uint16_t type, const IpAddress& address) {
    mnl_attr_put(head_, type, address.bytes().size(), address.bytes().data());
  }
  void put(std::uint16_t type, std::uint32_t number) { mnl_attr_put_u32(head_, type, number); }
  nlmsghdr& message() { return *head_; }

 private:
  alignas(nlmsghdr) std::array<char, 512> buffer_{};
  nlmsghdr* head_;
};

Error because(std::string_view what, Error error) {
  error.detail = std::string(what) + ": " + error.detail;
  return error;
}

Result<void> ask(Netlink& netlink, Request& request, std::string_view what) {
  auto done = netlink.ask(request.message());
  if (!done) return fail(because(what, std::move(done).error()));
  return success();
}

Result<void> bring_lo_up(Netlink& netlink) {
  Request request(RTM_NEWLINK, 0);
  auto& head = request.payload<ifinfomsg>();
  head.ifi_index = kLo;
  head.ifi_flags = IFF_UP;
  head.ifi_change = IFF_UP;
  return ask(netlink, request, "lo cannot be brought up");
}

Result<void> add_address(Netlink& netlink, const IpAddress& address) {
  Request request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
  auto& head = request.payload<ifaddrmsg>();
  head.ifa_family = address.is_v4() ? AF_INET : AF_INET6;
  head.ifa_prefixlen = address.is_v4() ? 32 : 128;
  head.ifa_flags = address.is_v4() ? 0 : IFA_F_NODAD;
  head.ifa_index = kLo;
  request.put(IFA_LOCAL, address);
  request.put(IFA_ADDRESS, address);
  return ask(netlink, request, "address " + address.text());
}

// `ip route add local default dev lo src ADDRESS`
Result<void> add_any_ip_route(Netlink& netlink, const IpAddress& source) {
  Request request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL);
  auto& head = request.payload<rtmsg>();
  head.rtm_family = source.is_v4() ? AF_INET : AF_INET6;
  head.rtm_table = RT_TABLE_LOCAL;
  head.rtm_protocol = RTPROT_BOOT;
  head.rtm_scope = source.is_v4() ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE;
  head.rtm_type = RTN_LOCAL;
  request.put(RTA_OIF, std::uint32_t{kLo});
  request.put(RTA_PREFSRC, source);
  return ask(netlink, request, "AnyIP route from " + source.text());
}

Result<void> switch_ipv6_on() {
  for (std::string_view where : {"all", "default", "lo"}) {
    std::string path = "/proc/sys/net/ipv6/conf/" + std::string(where) + "/disable_ipv6";
    auto now = read_text_file(path);
    if (!now)
      return fail(ErrorKind::kUnavailable,
                  "the kernel has no IPv6 here; a task is not attached to a family that cannot be caught");
    if (now.value() == "0\n") continue;
    auto written = write_text_file(path, "0");
    if (!written) {
      return fail(Error{ErrorKind::kUnavailable, written.error().code,
                        "IPv6 is switched off in this namespace and " + path +
                            " cannot be written; start the container with "
                            "sysctl net.ipv6.conf.all.disable_ipv6=0"});
    }
  }
  return success();
}

// There is no interface that could receive an advertisement; this is for one that somebody adds in spite of everything.
void refuse_router_advertisements() {
  for (std::string_view where : {"all", "default", "lo"}) {
    (void)write_text_file("/proc/sys/net/ipv6/conf/" + std::string(where) + "/accept_ra", "0");
  }
}

// The kernel enters the IPv6 address of an interface into its routes from a work queue, a moment after it has
// acknowledged the address.
Result<void> wait_for_routes() {
  Deadline deadline = Deadline::after(kRoutesLimit);
  for (;;) {
    auto routes = check_routes();
    if (routes || deadline.passed(Clock::now())) return routes;
    timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace

Result<void> configure_addresses() {
  BOOST_OUTCOME_TRY(IpAddress own4, IpAddress::parse(kOwnAddress4));
  BOOST_OUTCOME_TRY(IpAddress own6, IpAddress::parse(kOwnAddress6));
  BOOST_OUTCOME_TRY(switch_ipv6_on());
  refuse_router_advertisements();
  BOOST_OUTCOME_TRY(Netlink netlink, Netlink::open(NETLINK_ROUTE));
  BOOST_OUTCOME_TRY(bring_lo_up(netlink));
  for (const IpAddress& own : {own4, own6}) {
    BOOST_OUTCOME_TRY(add_address(netlink, own));
    BOOST_OUTCOME_TRY(add_any_ip_route(netlink, own));
  }
  return wait_for_routes();
}

}  // namespace sallyport::firewall
