#include "firewall/api/probes.h"

#include <array>

namespace sallyport::firewall {

namespace {

// In the order in which attach runs them: structure first, before the other probes leave connections behind.
constexpr std::array<ProbeInfo, kProbeCount> kProbes{{
    {Probe::kInterfaces, ProbeKind::kStructure, "interfaces", "", 0, "there is an interface to leave by"},
    {Probe::kRoutes, ProbeKind::kStructure, "routes", "", 0, "a route leads elsewhere than to Sallyport"},
    {Probe::kRules, ProbeKind::kStructure, "rules", "", 0, "policy routing can choose another table"},
    {Probe::kRuleset, ProbeKind::kStructure, "ruleset", "", 0, "the packet filter is not the one that was loaded"},
    {Probe::kForeignListener, ProbeKind::kStructure, "foreign-listener", "", 0,
     "somebody else listens inside and may receive what Sallyport should"},
    {Probe::kRawAddress, ProbeKind::kTcp, "raw-address", "192.0.2.1", 80,
     "TCP to an address literal does not reach the proxy"},
    {Probe::kRawAddressTls, ProbeKind::kTcp, "raw-address-tls", "192.0.2.1", 443,
     "TCP port 443 of an address literal does not reach the proxy"},
    {Probe::kOddPort, ProbeKind::kTcp, "odd-port", "192.0.2.1", 65535, "not every TCP port is caught"},
    {Probe::kIpv6, ProbeKind::kTcp, "ipv6", "2001:db8::1", 80, "IPv6 does not lead to the proxy"},
    {Probe::kMetadata, ProbeKind::kTcp, "metadata", "169.254.169.254", 80,
     "the cloud metadata address does not lead to the proxy"},
    {Probe::kMetadata6, ProbeKind::kTcp, "metadata6", "fd00:ec2::254", 80,
     "the IPv6 cloud metadata address does not lead to the proxy"},
    {Probe::kForeignDnsTcp, ProbeKind::kTcp, "foreign-dns-tcp", "192.0.2.53", 53,
     "DNS over TCP to a foreign server does not reach the proxy"},
    {Probe::kForeignDns, ProbeKind::kDns, "foreign-dns", "192.0.2.53", 53,
     "a query to a foreign DNS server is not ours to answer"},
    {Probe::kForeignDns6, ProbeKind::kDns, "foreign-dns6", "2001:db8::53", 53,
     "a query to a foreign DNS server over IPv6 is not ours to answer"},
    {Probe::kResolver, ProbeKind::kDns, "resolver", "", 53, "the task's own resolver address does not answer"},
    {Probe::kUdp, ProbeKind::kRefused, "udp", "192.0.2.1", 9, "a UDP datagram can be sent"},
    {Probe::kUdp443, ProbeKind::kRefused, "udp-443", "192.0.2.1", 443, "QUIC can be sent"},
    {Probe::kUdp6, ProbeKind::kRefused, "udp6", "2001:db8::1", 9, "a UDP datagram can be sent over IPv6"},
    {Probe::kIcmp, ProbeKind::kRefused, "icmp", "192.0.2.1", 0, "an echo request can be sent"},
    {Probe::kIcmp6, ProbeKind::kRefused, "icmp6", "2001:db8::1", 0, "an echo request can be sent over IPv6"},
    {Probe::kRawIp, ProbeKind::kRefused, "raw-ip", "192.0.2.1", 0, "a packet of another IP protocol can be sent"},
}};

}  // namespace

std::span<const ProbeInfo> all_probes() noexcept { return kProbes; }

const ProbeInfo& info_of(Probe probe) noexcept {
  for (const ProbeInfo& info : kProbes) {
    if (info.probe == probe) return info;
  }
  __builtin_trap();  // a number that was never checked against the table
}

std::optional<Probe> probe_of(std::string_view name) noexcept {
  for (const ProbeInfo& info : kProbes) {
    if (info.name == name) return info.probe;
  }
  return std::nullopt;
}

}  // namespace sallyport::firewall
