#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "firewall/addresses/configure.h"
#include "firewall/inspect/text_file.h"
#include "firewall/testing/new_namespace.h"

namespace sallyport::firewall {
namespace {

TEST(ConfigureAddresses, MakesExactlyWhatItChecks) {
  in_new_namespace([] {
    return !check_routes() && holds(check_interfaces()) && holds(check_rules()) && holds(configure_addresses()) &&
           holds(check_routes()) && holds(check_interfaces()) && holds(check_rules()) && !configure_addresses();
  });
}

TEST(ConfigureAddresses, SwitchesIpv6On) {  // firewall-002
  in_new_namespace([] {
    return holds(write_text_file("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1")) && holds(configure_addresses()) &&
           read_text_file("/proc/sys/net/ipv6/conf/lo/disable_ipv6").value() == "0\n" &&
           read_text_file("/proc/sys/net/ipv6/conf/all/accept_ra").value() == "0\n";
  });
}

TEST(CheckRoutes, NoticesEveryOtherRoute) {
  for (const char* change :
       {"ip route add blackhole 169.254.169.254", "ip -6 route add unreachable fd00:ec2::254",
        "ip route del local default table local", "ip -6 route del local default table local",
        "ip route add table 77 192.0.2.0/24 dev lo", "ip addr add 192.0.2.9/32 dev lo",
        "ip -6 addr add 2001:db8::9/128 dev lo", "ip route replace local default dev lo src 127.0.0.1 table 77",
        "ip link set lo down", "sysctl -q net.ipv6.conf.lo.disable_ipv6=1"}) {
    in_new_namespace([change] {
      if (!configure_addresses() || std::system(change) != 0) {
        std::fprintf(stderr, "not made: %s\n", change);
        return false;
      }
      bool noticed = !check_routes();
      if (!noticed) std::fprintf(stderr, "not noticed: %s\n", change);
      return noticed;
    });
  }
}

TEST(CheckInterfaces, NoticesEveryOtherInterface) {
  for (const char* change : {"ip link add eth0 type veth peer name eth1", "ip link add tunl0 type veth peer name x"}) {
    in_new_namespace([change] { return std::system(change) == 0 && !check_interfaces(); });
  }
}

TEST(CheckRules, NoticesEveryOtherRule) {
  for (const char* change :
       {"ip rule add from 10.77.0.2 lookup 77", "ip -6 rule add lookup 77", "ip rule del pref 32767",
        "ip -6 rule del pref 32766", "ip rule add pref 1 lookup main suppress_prefixlength 0"}) {
    in_new_namespace([change] { return std::system(change) == 0 && !check_rules(); });
  }
}

}  // namespace
}  // namespace sallyport::firewall
