#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "firewall/inspect/links.h"
#include "firewall/inspect/routes.h"
#include "firewall/inspect/sockets.h"

namespace sallyport::firewall {
namespace {

TEST(Links, OnlyLoAndIdleFallbackTunnelsAreTolerated) {
  EXPECT_TRUE(is_lo({1, "lo", "", true, true, false}));
  EXPECT_FALSE(is_lo({2, "lo", "", true, true, false}));   // a second one by that name in the list
  EXPECT_FALSE(is_lo({1, "lo", "", false, true, false}));  // a device renamed to lo
  EXPECT_TRUE(is_idle_fallback_tunnel({2, "tunl0", "ipip", false, false, false}));
  EXPECT_TRUE(is_idle_fallback_tunnel({3, "sit0", "sit", false, false, false}));
  EXPECT_FALSE(is_idle_fallback_tunnel({2, "tunl0", "ipip", false, true, false}));   // up
  EXPECT_FALSE(is_idle_fallback_tunnel({2, "tunl0", "veth", false, false, false}));  // a veth by that name
  EXPECT_FALSE(is_idle_fallback_tunnel({2, "tunl0", "ipip", false, false, true}));   // its underlay is elsewhere
  EXPECT_FALSE(is_idle_fallback_tunnel({2, "tunl1", "ipip", false, false, false}));
  EXPECT_FALSE(is_idle_fallback_tunnel({2, "eth0", "veth", false, false, false}));
}

Route route(const char* to, std::uint32_t table, std::uint8_t type, std::uint32_t interface = 1,
            std::uint32_t metric = 0) {
  Route made{IpPrefix::parse(to).value()};
  made.table = table;
  made.type = type;
  made.interface = interface;
  made.metric = metric;
  return made;
}

TEST(Routes, OnlyWhatLoopbackHasByItselfIsTolerated) {
  EXPECT_TRUE(is_kernel_loopback_route(route("127.0.0.0/8", RT_TABLE_LOCAL, RTN_LOCAL)));
  EXPECT_TRUE(is_kernel_loopback_route(route("127.255.255.255", RT_TABLE_LOCAL, RTN_BROADCAST)));
  EXPECT_TRUE(is_kernel_loopback_route(route("::1", RT_TABLE_LOCAL, RTN_LOCAL)));
  EXPECT_TRUE(is_kernel_loopback_route(route("::1", RT_TABLE_MAIN, RTN_UNICAST)));
  EXPECT_TRUE(is_kernel_loopback_route(route("::/0", RT_TABLE_MAIN, RTN_UNREACHABLE, 1, 0xffffffffU)));
  EXPECT_FALSE(is_kernel_loopback_route(route("::/0", RT_TABLE_MAIN, RTN_UNREACHABLE, 1, 1024)));
  EXPECT_FALSE(is_kernel_loopback_route(route("0.0.0.0/0", RT_TABLE_LOCAL, RTN_LOCAL)));
  EXPECT_FALSE(is_kernel_loopback_route(route("127.0.0.0/8", RT_TABLE_LOCAL, RTN_LOCAL, 2)));
  EXPECT_FALSE(is_kernel_loopback_route(route("127.0.0.0/8", RT_TABLE_MAIN, RTN_LOCAL)));
  EXPECT_FALSE(is_kernel_loopback_route(route("10.0.0.0/8", RT_TABLE_LOCAL, RTN_LOCAL)));
  EXPECT_FALSE(is_kernel_loopback_route(route("::2", RT_TABLE_LOCAL, RTN_LOCAL)));
  Route with_gateway = route("127.0.0.0/8", RT_TABLE_LOCAL, RTN_LOCAL);
  with_gateway.is_plain = false;
  EXPECT_FALSE(is_kernel_loopback_route(with_gateway));
}

TEST(Rules, OnlyTheFiveDefaultsAreTolerated) {
  EXPECT_TRUE(is_default_rule({true, 32766, RT_TABLE_MAIN, true}));
  EXPECT_TRUE(is_default_rule({false, 0, RT_TABLE_LOCAL, true}));
  EXPECT_FALSE(is_default_rule({false, 32767, RT_TABLE_DEFAULT, true}));
  EXPECT_FALSE(is_default_rule({true, 100, RT_TABLE_MAIN, true}));
  EXPECT_FALSE(is_default_rule({true, 32766, 77, true}));
  EXPECT_FALSE(is_default_rule({true, 32766, RT_TABLE_MAIN, false}));
}

TEST(Sockets, ReadsTheKernelsTables) {
  auto listening = parse_socket_line("tcp",
                                     "   0: 00000000:B467 00000000:0000 0A 00000000:00000000 00:00000000 00000000     "
                                     "0        0 49155 1 00 100 0 0 10 0");
  ASSERT_TRUE(listening);
  EXPECT_EQ(listening.value().port, 0xb467);
  EXPECT_EQ(listening.value().inode, 49155u);
  EXPECT_TRUE(listening.value().can_receive_strangers);
  auto connected = parse_socket_line("tcp",
                                     "   0: 0100007F:B467 0100007F:0050 01 00000000:00000000 00:00000000 00000000     "
                                     "0        0 49155 1 00 100 0 0 10 0");
  ASSERT_TRUE(connected);
  EXPECT_FALSE(connected.value().can_receive_strangers);
  auto udp = parse_socket_line("udp6",
                               " 3304: 00000000000000000000000000000000:0035 00000000000000000000000000000000:0000 07 "
                               "00000000:00000000 00:00000000 00000000     0        0 49157 2 00000000f844d05f 0");
  ASSERT_TRUE(udp);
  EXPECT_TRUE(udp.value().can_receive_strangers);
  EXPECT_EQ(udp.value().port, 53);
  auto packet = parse_socket_line("packet", "00000000a148f71b 3      3    0003   0     1 0      0      49160 ");
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet.value().inode, 49160u);
  for (std::string_view bad : {"", "0:", "0: x y z a b c d e f", "0: 00000000:ZZZZ 00000000:0000 0A a b c 0 y x"}) {
    EXPECT_FALSE(parse_socket_line("tcp", bad)) << bad;
    EXPECT_FALSE(parse_socket_line("packet", bad)) << bad;
  }
}

// In a namespace of its own: the machine's may hold more sockets than the bounds of the lists.
int read_lists_in_a_fresh_namespace() {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return 77;
  auto links = list_links();
  if (!links || links.value().empty() || !is_lo(links.value().front())) return 1;
  if (!list_routes()) return 2;
  if (!list_addresses()) return 3;
  if (!list_rules()) return 4;
  auto sockets = list_sockets();
  return sockets && sockets.value().empty() ? 0 : 5;
}

TEST(Lists, AFreshNamespaceCanBeRead) {
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(read_lists_in_a_fresh_namespace());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no user namespace can be made here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace sallyport::firewall
