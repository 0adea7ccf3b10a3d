#include "proxy/tunnel/relay.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <cstring>
#include <string>

#include "policies/engine/load.h"

namespace sallyport::proxy {
namespace {

using namespace std::chrono_literals;

// Grants come from the test.
struct NoLedger final : LeaseSource {
  void request_lease(Resource, int, std::uint64_t) noexcept override {}
};

std::pair<UniqueFd, UniqueFd> connected() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

TaskSettings settings(LeaseSource& leases, std::string_view budgets) {
  std::string text = "policy: relay/1\nrules:\n  - allow: tcp://a.test:1\n" + std::string(budgets);
  auto pool = resolver::SyntheticPool::make(IpPrefix::parse("198.18.0.0/20").value(), IpPrefix::parse("fd53:7079:0:1::/64").value());
  return {TaskId::parse("t-relay").value(), policy::load(text, "test.yaml").policy, std::move(pool).value(), leases,
          [](std::string_view, int) {}};
}

// A task with one connection; both of its far ends are the test's.
struct World {
  explicit World(std::string_view budgets)
      : ring(audit::AuditRing::create(audit::AuditRing::kMinSize).value()),
        recorder(io.get_executor(), audit::AuditRing::open(ring.duplicate().value()).value()),
        channels(ipc::Channel::pair().value()), resolver(io.get_executor(), wheel, std::move(channels.second)),
        dialer(wheel, resolver, addresses), task({io.get_executor(), wheel, recorder, dialer}, settings(leases, budgets)) {
    auto [near_client, far_client] = connected();
    auto [near_upstream, far_upstream] = connected();
    at_client = std::move(far_client);
    at_upstream = std::move(far_upstream);
    client.emplace(task, ClientForm::kExplicit, net::SocketStream::adopt(io.get_executor(), std::move(near_client)).value(), std::nullopt);
    upstream.stream = net::SocketStream::adopt(io.get_executor(), std::move(near_upstream)).value();
    client->set_upstream(upstream.stream.get());
  }

  RelayTotals relay() {
    Relay relaying(*client, upstream, LimitSet(task.allowances(), nullptr), std::nullopt);
    std::optional<RelayTotals> totals;
    boost::asio::co_spawn(io, relaying.run(), [&](std::exception_ptr, RelayTotals done) { totals = done; });
    for (int i = 0; i < 200 && !totals; ++i) {
      io.restart();
      io.run_for(10ms);
    }
    EXPECT_TRUE(totals.has_value());
    return totals.value_or(RelayTotals{});
  }
  void grant(Resource resource, std::uint64_t amount) { task.allowances().of(resource).granted(amount, true); }

  IoContext io{1};
  async::DeadlineWheel wheel{Clock::now()};
  net::AddressPolicy addresses;
  audit::RingDescriptors ring;
  Recorder recorder;
  std::pair<ipc::Channel, ipc::Channel> channels;
  ResolverClient resolver;
  Dialer dialer;
  NoLedger leases;
  Task task;
  UniqueFd at_client, at_upstream;
  UpstreamConnection upstream;
  std::optional<ClientConnection> client;
};

void say(const UniqueFd& end, std::size_t count) {
  std::string bytes(count, 'x');
  EXPECT_EQ(::send(end.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(count));
}

void finish(const UniqueFd& end) { EXPECT_EQ(::shutdown(end.get(), SHUT_WR), 0); }

std::size_t heard(const UniqueFd& end) {
  char buffer[4096];
  std::size_t total = 0;
  for (ssize_t got; (got = ::recv(end.get(), buffer, sizeof buffer, 0)) > 0;) total += static_cast<std::size_t>(got);
  return total;
}

TEST(Relay, CarriesBothWaysAndPassesEachEndOn) {
  World world("");
  say(world.at_client, 3000);
  finish(world.at_client);
  say(world.at_upstream, 5000);
  finish(world.at_upstream);
  auto totals = world.relay();
  EXPECT_EQ(totals.up, 3000u);
  EXPECT_EQ(totals.down, 5000u);
  EXPECT_TRUE(totals.orderly);
  EXPECT_FALSE(totals.limit);
  EXPECT_EQ(heard(world.at_upstream), 3000u);
  EXPECT_EQ(heard(world.at_client), 5000u);
}

// budget-007
TEST(Relay, CutsUploadToTheByte) {
  World world("budgets:\n  upload: 1000B\n");
  world.grant(Resource::kUpload, 1000);
  say(world.at_client, 5000);
  auto totals = world.relay();
  EXPECT_EQ(totals.up, 1000u);
  EXPECT_EQ(totals.limit, Resource::kUpload);
  EXPECT_FALSE(totals.orderly);
  EXPECT_EQ(heard(world.at_upstream), 1000u);
}

TEST(Relay, CutsDownloadToTheByte) {
  World world("budgets:\n  download: 1000B\n");
  world.grant(Resource::kDownload, 1000);
  say(world.at_upstream, 5000);
  auto totals = world.relay();
  EXPECT_EQ(totals.down, 1000u);
  EXPECT_EQ(totals.limit, Resource::kDownload);
  EXPECT_EQ(heard(world.at_client), 1000u);
}

// The end of a stream is no byte.
TEST(Relay, LetsBothStreamsEndExactlyAtTheirLimits) {
  World world("budgets:\n  upload: 1000B\n  download: 700B\n");
  world.grant(Resource::kUpload, 1000);
  world.grant(Resource::kDownload, 700);
  say(world.at_client, 1000);
  finish(world.at_client);
  say(world.at_upstream, 700);
  finish(world.at_upstream);
  auto totals = world.relay();
  EXPECT_FALSE(totals.limit);
  EXPECT_TRUE(totals.orderly);
  EXPECT_EQ(heard(world.at_upstream), 1000u);
  EXPECT_EQ(heard(world.at_client), 700u);
}

TEST(Relay, CountsWhatWasReadBeforeItBegan) {
  World world("budgets:\n  upload: 1000B\n");
  world.grant(Resource::kUpload, 1000);
  auto room = world.client->input().room();
  std::memset(room.data(), 'x', 600);
  world.client->input().filled(600);
  say(world.at_client, 600);
  auto totals = world.relay();
  EXPECT_EQ(totals.up, 1000u);
  EXPECT_EQ(totals.limit, Resource::kUpload);
  EXPECT_EQ(heard(world.at_upstream), 1000u);
}

// budget-012
TEST(Relay, HoldsNoAllowanceWhileItWaits) {
  World world("budgets:\n  upload: 1000B\n");
  world.grant(Resource::kUpload, 1000);
  Relay relaying(*world.client, world.upstream, LimitSet(world.task.allowances(), nullptr), std::nullopt);
  bool ended = false;
  boost::asio::co_spawn(world.io, relaying.run(), [&](std::exception_ptr, RelayTotals) { ended = true; });
  say(world.at_client, 10);
  world.io.run_for(50ms);
  EXPECT_FALSE(ended);
  EXPECT_EQ(world.task.allowances().of(Resource::kUpload).available(), 990u);
  finish(world.at_client);
  finish(world.at_upstream);
  world.io.restart();
  world.io.run_for(50ms);
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace sallyport::proxy
