#include "firewall/probes/refused_probe.h"

#include <array>
#include <cerrno>
#include <cstring>

#include "core/base/unique_fd.h"
#include "firewall/probes/socket_address.h"

namespace sallyport::firewall {

namespace {

constexpr int kExperimentalProtocol = 253;  // RFC 3692

struct Means {
  int type;
  int protocol;
};

Means means_of(Probe probe) noexcept {
  switch (probe) {
    case Probe::kIcmp:
      return {SOCK_RAW, IPPROTO_ICMP};
    case Probe::kIcmp6:
      return {SOCK_RAW, IPPROTO_ICMPV6};
    case Probe::kRawIp:
      return {SOCK_RAW, kExperimentalProtocol};
    default:
      return {SOCK_DGRAM, IPPROTO_UDP};
  }
}

// An echo request without identity; as payload of UDP or another protocol it is as good as any.
std::array<unsigned char, 8> packet_for(Probe probe) noexcept {
  return {static_cast<unsigned char>(probe == Probe::kIcmp6 ? 128 : 8), 0, 0, 0, 0, 0, 0, 1};
}

ProbeOutcome failed(Probe probe, int code, std::string_view step) {
  return {probe, ProbeStatus::kFailed, code,
          std::string(step) + (code == 0 ? "" : std::string(": ") + std::strerror(code))};
}

}  // namespace

ProbeOutcome probe_refused(Probe probe) {
  const ProbeInfo& info = info_of(probe);
  auto address = IpAddress::parse(info.destination);
  if (!address) return failed(probe, 0, "no destination");
  Means means = means_of(probe);
  UniqueFd socket(::socket(address.value().is_v4() ? AF_INET : AF_INET6, means.type | SOCK_CLOEXEC | SOCK_NONBLOCK,
                           means.protocol));
  if (!socket) return failed(probe, errno, "socket");
  auto packet = packet_for(probe);
  SocketAddress to = socket_address(address.value(), info.port);
  ssize_t sent = ::sendto(socket.get(), packet.data(), packet.size(), 0, to.get(), to.size);
  if (sent >= 0) return failed(probe, 0, "sent " + std::to_string(sent) + " bytes");
  // Only the packet filter answers so, and within the call. ECONNREFUSED, for one, is the late echo of a datagram that
  // went.
  if (errno == EPERM || errno == EACCES) return {probe, ProbeStatus::kBlocked, errno, ""};
  return failed(probe, errno, "send");
}

}  // namespace sallyport::firewall
