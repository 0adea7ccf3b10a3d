#include "firewall/ruleset/ruleset_text.h"

#include <string_view>

#include "firewall/api/plan.h"

namespace sallyport::firewall {

namespace {

constexpr std::string_view kCounters[] = {"caught",      "dns",          "refused_udp_443", "refused_udp_853",
                                          "refused_udp", "refused_icmp", "refused_other",   "foreign_interface",
                                          "forwarded"};

std::string counters() {
  std::string text;
  for (std::string_view name : kCounters) text += "  counter " + std::string(name) + " { }\n";
  return text;
}

std::string own4() { return "{ 127.0.0.0/8, " + std::string(kOwnAddress4) + " }"; }
std::string own6() { return "{ ::1, " + std::string(kOwnAddress6) + " }"; }

// Counted, logged a little, and answered at once: the sender gets EPERM from its own call.
std::string refuse(std::string_view match, std::string_view counter, PacketLog log) {
  std::string rule = "    " + std::string(match) + " counter name " + std::string(counter);
  std::string text;
  if (log == PacketLog::kOn) {
    text += "    " + std::string(match) + " limit rate 10/second burst 20 packets log prefix \"sallyport " +
            std::string(counter) + "\" group " + std::to_string(kPacketLogGroup) + " snaplen 128\n";
  }
  return text + rule + " reject with icmpx admin-prohibited\n";
}

// Order matters. The task's own addresses first, or a program that connects to its own host name lands on the proxy;
// replies of our transparent sockets next; then packets of a connection that a transparent socket already has; then the
// catch-all, before any listener of the task on 0.0.0.0 could take a connection that is meant for another host.
std::string catch_chain() {
  return "  chain caught_tcp {\n"
         "    type filter hook prerouting priority mangle; policy accept;\n"
         "    iifname != \"lo\" counter name foreign_interface drop\n"
         "    ip daddr " +
         own4() +
         " return\n"
         "    ip6 daddr " +
         own6() +
         " return\n"
         "    ct direction reply return\n"
         "    meta l4proto tcp socket transparent 1 socket wildcard 0 accept\n"
         "    meta l4proto tcp counter name caught tproxy to :" +
         std::to_string(kCatchAllPort) +
         " accept\n"
         "  }\n";
}

std::string output_chain(PacketLog log) {
  return "  chain leaving {\n"
         "    type filter hook output priority filter; policy drop;\n"
         "    oifname != \"lo\" counter name foreign_interface drop\n"
         // To the catch-all, to our listeners, or between the task's own programs.
         "    meta l4proto tcp accept\n"
         // Queries to any address are ours to answer; our answers carry that address as their source.
         "    udp dport " +
         std::to_string(kDnsPort) +
         " counter name dns accept\n"
         "    meta l4proto udp ct direction reply accept\n"
         // The task's own programs among each other, and the kernel's own notices of a closed port.
         "    ip daddr " +
         own4() +
         " meta l4proto { udp, icmp } accept\n"
         "    ip6 daddr " +
         own6() + " meta l4proto { udp, ipv6-icmp } accept\n" + refuse("udp dport 443", "refused_udp_443", log) +
         refuse("udp dport 853", "refused_udp_853", log) + refuse("meta l4proto udp", "refused_udp", log) +
         refuse("meta l4proto { icmp, ipv6-icmp }", "refused_icmp", log) +
         refuse("meta l4proto != tcp", "refused_other", log) + "  }\n";
}

}  // namespace

std::string ruleset_text(PacketLog log) {
  return "table inet " + std::string(kTableName) + " {\n" + counters() + catch_chain() + output_chain(log) +
         "  chain arriving {\n"
         "    type filter hook input priority filter; policy accept;\n"
         "    iifname != \"lo\" counter name foreign_interface drop\n"
         "  }\n"
         "  chain passing {\n"
         "    type filter hook forward priority filter; policy drop;\n"
         "    counter name forwarded drop\n"
         "  }\n"
         "}\n";
}

}  // namespace sallyport::firewall
