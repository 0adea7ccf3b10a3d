#include "firewall/attach/listeners.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <initializer_list>

#include "firewall/api/plan.h"
#include "firewall/probes/socket_address.h"

namespace sallyport::firewall {

namespace {

struct Option {
  int level;
  int name;
  int value = 1;
};

// Neither SO_REUSEADDR nor SO_REUSEPORT: with them a socket of the task could be bound beside ours.
Result<UniqueFd> make(int type, std::string_view address, std::uint16_t port, std::initializer_list<Option> options) {
  BOOST_OUTCOME_TRY(IpAddress parsed, IpAddress::parse(address));
  std::string what = "listener " + std::string(address) + " port " + std::to_string(port);
  UniqueFd socket(::socket(parsed.is_v4() ? AF_INET : AF_INET6, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno(what);
  auto set = [&](const Option& option) {
    return ::setsockopt(socket.get(), option.level, option.name, &option.value, sizeof option.value) == 0;
  };
  for (const Option& option :
       {Option{SOL_SOCKET, SO_RCVBUF, kListenerBufferBytes}, Option{SOL_SOCKET, SO_SNDBUF, kListenerBufferBytes}}) {
    if (!set(option)) return fail_errno(what + ": buffer");
  }
  if (!parsed.is_v4() && !set({IPPROTO_IPV6, IPV6_V6ONLY})) return fail_errno(what + ": V6ONLY");
  for (const Option& option : options) {
    if (!set(option)) return fail_errno(what + ": option " + std::to_string(option.name));
  }
  SocketAddress at = socket_address(parsed, port);
  if (::bind(socket.get(), at.get(), at.size) != 0) return fail_errno(what);
  if (type == SOCK_STREAM && ::listen(socket.get(), kListenBacklog) != 0) return fail_errno(what);
  return socket;
}

}  // namespace

Result<ListenerSet> make_listeners() {
  ListenerSet set;
  BOOST_OUTCOME_TRY(set.proxy4, make(SOCK_STREAM, "127.0.0.1", kExplicitProxyPort, {}));
  BOOST_OUTCOME_TRY(set.proxy6, make(SOCK_STREAM, "::1", kExplicitProxyPort, {}));
  BOOST_OUTCOME_TRY(set.caught4, make(SOCK_STREAM, "0.0.0.0", kCatchAllPort, {{IPPROTO_IP, IP_TRANSPARENT}}));
  BOOST_OUTCOME_TRY(set.caught6, make(SOCK_STREAM, "::", kCatchAllPort, {{IPPROTO_IPV6, IPV6_TRANSPARENT}}));
  BOOST_OUTCOME_TRY(set.dns4, make(SOCK_DGRAM, "0.0.0.0", kDnsPort, {{IPPROTO_IP, IP_PKTINFO}}));
  BOOST_OUTCOME_TRY(
      set.dns6, make(SOCK_DGRAM, "::", kDnsPort, {{IPPROTO_IPV6, IPV6_RECVPKTINFO}, {IPPROTO_IPV6, IPV6_FREEBIND}}));
  return set;
}

}  // namespace sallyport::firewall
