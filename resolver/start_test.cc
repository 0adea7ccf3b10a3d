#include "resolver/start.h"

#include <gtest/gtest.h>

namespace sallyport::resolver {
namespace {

using std::chrono::milliseconds;

api::Start start_with(std::initializer_list<const char*> servers) {
  api::Start start;
  for (const char* server : servers) start.add_servers(server);
  return start;
}
Result<StartSettings> read(const api::Start& start) { return read_start(start, "/nonexistent/resolv.conf"); }

TEST(ReadStart, HasDefaults) {
  auto settings = read(start_with({"192.0.2.1"}));
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings.value().upstream.total, milliseconds(5000));
  EXPECT_EQ(settings.value().upstream.attempt, milliseconds(1500));
  EXPECT_EQ(settings.value().upstream.max_in_flight, 256u);
  EXPECT_EQ(settings.value().user, 0u);
}

TEST(ReadStart, UsesResolvConfOnlyWithoutServers) {
  EXPECT_TRUE(read(start_with({"192.0.2.1"})));
  EXPECT_FALSE(read(start_with({})));
}

TEST(ReadStart, ReadsRangesAndOwnAddresses) {
  auto start = start_with({"192.0.2.1"});
  start.add_permit("10.0.0.0/8");
  start.add_own_addresses(std::string("\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07", 16));
  start.add_own_addresses("\x0a\x01\x02\x03");
  auto settings = read(start);
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings.value().addresses.permit.size(), 1u);
  EXPECT_EQ(settings.value().addresses.own_addresses[0].text(), "2001:db8::7");
  EXPECT_EQ(settings.value().addresses.own_addresses[1].text(), "10.1.2.3");
}

TEST(ReadStart, DeniesWhatIsOutOfRange) {
  auto denied = [](auto change) {
    auto start = start_with({"192.0.2.1"});
    change(start);
    return !read(start);
  };
  EXPECT_FALSE(denied([](api::Start& s) { s.set_total_timeout_ms(60000); }));
  EXPECT_TRUE(denied([](api::Start& s) { s.set_total_timeout_ms(60001); }));
  EXPECT_TRUE(denied([](api::Start& s) { s.set_total_timeout_ms(9); }));
  EXPECT_FALSE(denied([](api::Start& s) { s.set_total_timeout_ms(1000); }));  // one try becomes shorter with it
  EXPECT_TRUE(denied([](api::Start& s) { s.set_try_timeout_ms(5001); }));
  EXPECT_FALSE(denied([](api::Start& s) { s.set_max_in_flight(4096); }));
  EXPECT_TRUE(denied([](api::Start& s) { s.set_max_in_flight(4097); }));
  EXPECT_TRUE(denied([](api::Start& s) { s.add_permit("10.0.0.1/8"); }));
  EXPECT_TRUE(denied([](api::Start& s) { s.add_own_addresses("10.0.0.1"); }));
  EXPECT_TRUE(denied([](api::Start& s) { s.add_servers("dns.test"); }));
}

}  // namespace
}  // namespace sallyport::resolver
