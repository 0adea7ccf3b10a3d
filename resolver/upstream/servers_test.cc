#include "resolver/upstream/servers.h"

#include <gtest/gtest.h>

namespace sallyport::resolver {
namespace {

TEST(ParseServer, ReadsAddressesWithAndWithoutPort) {
  struct {
    const char* text;
    const char* read;
  } cases[] = {{"192.0.2.1", "192.0.2.1:53"},
               {"192.0.2.1:5353", "192.0.2.1:5353"},
               {"2001:db8::1", "[2001:db8::1]:53"},
               {"[2001:db8::1]:5353", "[2001:db8::1]:5353"}};
  for (const auto& c : cases) {
    auto server = parse_server(c.text);
    ASSERT_TRUE(server) << c.text;
    EXPECT_EQ(server.value().text(), c.read);
  }
}

TEST(ParseServer, DeniesEverythingElse) {
  for (auto text : {"", "dns.test", "192.0.2.1:", "192.0.2.1:0", "192.0.2.1:65536", "192.0.2.1:053", "192.0.2.1:53 ",
                    "[192.0.2.1]:53", "[2001:db8::1]", "[2001:db8::1]:", "[2001:db8::1", "2001:db8::1:99999",
                    "fe80::1%eth0", "[::1]53", "192.0.2.1:53:53", "127.1"})
    EXPECT_FALSE(parse_server(text)) << text;
}

TEST(ParseServers, DeniesNoneTooManyAndDoubles) {
  auto read = [](std::vector<std::string> texts) { return parse_servers(texts).has_value(); };
  EXPECT_TRUE(read({"192.0.2.1", "192.0.2.1:54"}));
  EXPECT_FALSE(read({}));
  EXPECT_FALSE(read({"192.0.2.1", "192.0.2.1:53"}));
  std::vector<std::string> many;
  for (std::size_t i = 0; i < kMaxServers; ++i) many.push_back("192.0.2." + std::to_string(i));
  EXPECT_TRUE(read(many));
  many.push_back("192.0.2.200");
  EXPECT_FALSE(read(many));
}

TEST(ResolvConf, GivesNameserversOnly) {
  auto servers = servers_of_resolv_conf(
      "# comment\nsearch corp.test\n  nameserver\t192.0.2.1 trailing\r\nnameserver 2001:db8::1\nnameserver "
      "fe80::1%eth0\noptions ndots:5\nnameserver bad\nnameserver "
      "192.0.2.1\n;nameserver 192.0.2.9\nnameservers 192.0.2.8\nnameserver");
  ASSERT_TRUE(servers);
  ASSERT_EQ(servers.value().size(), 2u);
  EXPECT_EQ(servers.value()[0].text(), "192.0.2.1:53");
  EXPECT_EQ(servers.value()[1].text(), "[2001:db8::1]:53");
}

TEST(ResolvConf, DeniesAFileWithoutServer) {
  for (auto text : {"", "\n", "search corp.test\n", "nameserver ::zz\n"})
    EXPECT_FALSE(servers_of_resolv_conf(text)) << text;
  EXPECT_FALSE(read_resolv_conf("/nonexistent/resolv.conf"));
}

}  // namespace
}  // namespace sallyport::resolver
