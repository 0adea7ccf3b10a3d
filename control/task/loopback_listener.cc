#include "control/task/loopback_listener.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "core/net/endpoint.h"
#include "core/base/units.h"

namespace sallyport::control {
namespace {

constexpr int kBacklog = 4096;
constexpr int kUdpBuffer = 1 << 20;

Result<net::Endpoint> parse_endpoint(std::string_view text) {
  auto colon = text.rfind(':');
  if (colon == text.npos) return fail(ErrorKind::kInvalid, "--listen takes an address and a port: 127.0.0.1:3128");
  auto host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  auto address = IpAddress::parse(host);
  auto port = Port::parse(text.substr(colon + 1));
  if (!address || !port) return fail(ErrorKind::kInvalid, "--listen takes an address and a port: 127.0.0.1:3128");
  bool loopback = address.value().is_v4() ? address.value().bytes()[0] == 127 : address.value() == IpAddress::parse("::1").value();
  if (!loopback) return fail(ErrorKind::kInvalid, "--listen serves loopback addresses only: 127.0.0.1:PORT or [::1]:PORT");
  return net::Endpoint{address.value(), port.value().value()};
}

}  // namespace

Result<LoopbackListener> loopback_listener(std::string_view text, ListenerProtocol protocol) {
  BOOST_OUTCOME_TRY(auto endpoint, parse_endpoint(text));
  auto address = net::to_socket_address(endpoint);
  bool tcp = protocol == ListenerProtocol::kTcp;
  UniqueFd socket(::socket(address.storage.ss_family, (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("socket");
  int on = 1;
  if (!tcp) {
    bool v4 = endpoint.address.is_v4();
    if (::setsockopt(socket.get(), v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_PKTINFO : IPV6_RECVPKTINFO, &on, sizeof on) != 0)
      return fail_errno("packet information");
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &kUdpBuffer, sizeof kUdpBuffer);
  }
  // A restart does not wait for the connections of the one before to be forgotten. Nobody can bind a port beside a listener by this.
  if (tcp && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) return fail_errno("setsockopt");
  if (::bind(socket.get(), address.get(), address.length) != 0) return fail_errno("listen on " + endpoint.text());
  if (tcp && ::listen(socket.get(), kBacklog) != 0) return fail_errno("listen on " + endpoint.text());
  return LoopbackListener{std::move(socket), endpoint.text()};
}

}  // namespace sallyport::control
