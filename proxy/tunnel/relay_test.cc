#include "proxy/tunnel/relay.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

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

using Told = std::vector<std::pair<std::string, int>>;

TaskSettings settings(LeaseSource& leases, std::string_view budgets, Told& told) {
  std::string text = R"(policy: relay/1
rules:
  - allow: tcp://a.test:1
  - allow: tcp://b.test:1
    limits: {duration: 1s, upload: 500B}
)" + std::string(budgets);
  auto pool = resolver::SyntheticPool::make(IpPrefix::parse("198.18.0.0/20").value(), IpPrefix::parse("fd53:7079:0:1::/64").value());
  return {TaskId::parse("t-relay").value(), policy::load(text, "test.yaml").policy, std::move(pool).value(), leases,
          [&told](std::string_view limit, int rule) { told.emplace_back(limit, rule); }};
}

// A task with one tunnel; both of its far ends are the test's.
struct World {
  explicit World(std::string_view budgets, const char* host = "a.test")
      : ring(audit::AuditRing::create(audit::AuditRing::kMinSize).value()),
        recorder(io.get_executor(), audit::AuditRing::open(ring.duplicate().value()).value()),
        channels(ipc::Channel::pair().value()), resolver(io.get_executor(), wheel, std::move(channels.second)),
        dialer(wheel, resolver, addresses),
        task({io.get_executor(), wheel, recorder, dialer, relays}, settings(leases, budgets, told)), name(HostName::parse(host).value()) {
    ::signal(SIGPIPE, SIG_IGN);
    task.run();
    auto [near_client, far_client] = connected();
    auto [near_upstream, far_upstream] = connected();
    at_client = std::move(far_client);
    at_upstream = std::move(far_upstream);
    client.emplace(task, ClientForm::kExplicit, net::SocketStream::adopt(io.get_executor(), std::move(near_client)).value(), std::nullopt);
    upstream = std::make_unique<UpstreamConnection>();
    upstream->stream = net::SocketStream::adopt(io.get_executor(), std::move(near_upstream)).value();
  }
  ~World() {
    task.begin_end(async::CancelReason::kShutdown);
    run(50);
  }

  void start() {
    auto verdict = task.decide_connection({name, Port::of(1)});
    ASSERT_TRUE(verdict.destination);
    Relay::start(*client, *verdict.destination, std::move(upstream));
    client.reset();
  }
  // So many milliseconds, in which the wheel turns.
  void run(int milliseconds) {
    for (int i = 0; i < milliseconds; ++i) {
      io.restart();
      io.run_for(1ms);
      wheel.advance(Clock::now());
    }
  }
  // Until the relay is over; its totals are then the task's.
  DestinationUse relay() {
    start();
    for (int i = 0; i < 1000 && task.scope().running() > 0; ++i) run(2);
    EXPECT_EQ(task.scope().running(), 0u);
    EXPECT_EQ(task.clients, 0u);
    return task.destinations().total();
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
  net::RelayPool relays;
  NoLedger leases;
  Told told;
  Task task;
  policy::Target name;
  UniqueFd at_client, at_upstream;
  std::unique_ptr<UpstreamConnection> upstream;
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

bool ended(const UniqueFd& end) {
  char byte;
  auto got = ::recv(end.get(), &byte, 1, 0);
  return got == 0 || (got < 0 && errno != EAGAIN);
}

const Told kNothing;

// connect-015
TEST(Relay, CarriesBothWaysAndPassesEachEndOn) {
  World world("");
  say(world.at_client, 3000);
  finish(world.at_client);
  world.start();
  world.run(20);
  EXPECT_EQ(heard(world.at_upstream), 3000u);  // and the end; the answer still comes
  say(world.at_upstream, 5000);
  world.run(20);
  EXPECT_EQ(heard(world.at_client), 5000u);
  EXPECT_EQ(world.task.clients, 1u);
  finish(world.at_upstream);
  world.run(20);
  auto totals = world.task.destinations().total();
  EXPECT_EQ(totals.bytes_up, 3000u);
  EXPECT_EQ(totals.bytes_down, 5000u);
  EXPECT_EQ(world.task.clients, 0u);
  EXPECT_EQ(world.told, kNothing);
}

// budget-007
TEST(Relay, CutsUploadToTheByte) {
  World world("budgets:\n  upload: 1000B\n");
  world.grant(Resource::kUpload, 1000);
  say(world.at_client, 5000);
  EXPECT_EQ(world.relay().bytes_up, 1000u);
  EXPECT_EQ(world.told, Told({{"upload", -1}}));
  EXPECT_EQ(heard(world.at_upstream), 1000u);
  EXPECT_EQ(world.task.denials().entries().front().reason, policy::ReasonCode::kBudgetUpload);
}

TEST(Relay, CutsDownloadToTheByte) {
  World world("budgets:\n  download: 1000B\n");
  world.grant(Resource::kDownload, 1000);
  say(world.at_upstream, 5000);
  EXPECT_EQ(world.relay().bytes_down, 1000u);
  EXPECT_EQ(world.told, Told({{"download", -1}}));
  EXPECT_EQ(heard(world.at_client), 1000u);
}

TEST(Relay, TellsWhoseLimitItWas) {
  World world("budgets:\n  upload: 1000B\n", "b.test");
  world.grant(Resource::kUpload, 1000);
  world.task.rule_allowances(1)->of(Resource::kUpload).granted(500, true);
  say(world.at_client, 5000);
  EXPECT_EQ(world.relay().bytes_up, 500u);
  EXPECT_EQ(world.told, Told({{"upload", 1}}));
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
  EXPECT_EQ(totals.bytes_up, 1000u);
  EXPECT_EQ(totals.bytes_down, 700u);
  EXPECT_EQ(world.told, kNothing);
}

TEST(Relay, CutsOneByteBeyondTheLimit) {
  World world("budgets:\n  upload: 1000B\n");
  world.grant(Resource::kUpload, 1000);
  say(world.at_client, 1001);
  finish(world.at_client);
  EXPECT_EQ(world.relay().bytes_up, 1000u);
  EXPECT_EQ(world.told, Told({{"upload", -1}}));
}

TEST(Relay, PaysForWhatTheClientSentAhead) {
  World world("budgets:\n  upload: 1000B\n");
  world.grant(Resource::kUpload, 1000);
  auto room = world.client->input().room();
  std::memset(room.data(), 'x', 600);
  world.client->input().filled(600);
  say(world.at_client, 600);
  EXPECT_EQ(world.relay().bytes_up, 1000u);
  EXPECT_EQ(heard(world.at_upstream), 1000u);
}

// budget-012
TEST(Relay, HoldsNoAllowanceWhileItWaits) {
  World world("budgets:\n  upload: 1000B\n");
  world.grant(Resource::kUpload, 1000);
  say(world.at_client, 10);
  world.start();
  world.run(20);
  EXPECT_EQ(world.task.clients, 1u);
  EXPECT_EQ(world.task.allowances().of(Resource::kUpload).available(), 990u);
  finish(world.at_client);
  finish(world.at_upstream);
  world.run(20);
  EXPECT_EQ(world.task.clients, 0u);
}

// budget-010: however busy, and idle is another limit.
TEST(Relay, EndsABusyTunnelAtItsTime) {
  World world("budgets:\n  idle: 5m\n", "b.test");
  world.task.rule_allowances(1)->of(Resource::kUpload).granted(500, true);
  auto begin = Clock::now();
  world.start();
  while (world.task.clients > 0 && Clock::now() - begin < 3s) {
    (void)::send(world.at_client.get(), "x", 1, MSG_NOSIGNAL);
    world.run(20);
  }
  EXPECT_GE(Clock::now() - begin, 990ms);
  EXPECT_LE(Clock::now() - begin, 2s);
  EXPECT_EQ(world.told, Told({{"connections.duration", 1}}));
  EXPECT_EQ(world.task.denials().entries().front().reason, policy::ReasonCode::kBudgetDuration);
  EXPECT_EQ(heard(world.at_upstream), world.task.destinations().total().bytes_up);
}

TEST(Relay, EndsAnIdleTunnel) {
  World world("budgets:\n  idle: 1s\n");
  auto begin = Clock::now();
  world.start();
  for (int i = 0; i < 4; ++i) {
    world.run(200);
    say(world.at_client, 1);  // carries something
  }
  EXPECT_EQ(world.task.clients, 1u);
  while (world.task.clients > 0 && Clock::now() - begin < 4s) world.run(20);
  EXPECT_GE(Clock::now() - begin, 1600ms);
  EXPECT_EQ(world.told, Told({{"idle", -1}}));
}

TEST(Relay, EndsWithEitherSideThatBreaks) {
  for (bool client : {true, false}) {
    World world("");
    world.start();
    world.run(10);
    (client ? world.at_client : world.at_upstream).reset();
    say(client ? world.at_upstream : world.at_client, 10);
    world.run(30);
    finish(client ? world.at_upstream : world.at_client);
    world.run(30);
    EXPECT_EQ(world.task.clients, 0u);
    EXPECT_EQ(world.told, kNothing);
  }
}

TEST(Relay, EndsWithItsTask) {
  World world("");
  world.start();
  world.run(10);
  world.task.begin_end(async::CancelReason::kTaskEnded);
  world.run(10);
  EXPECT_EQ(world.task.clients, 0u);
  EXPECT_TRUE(ended(world.at_client));
  EXPECT_TRUE(ended(world.at_upstream));
  EXPECT_EQ(world.told, kNothing);
}

TEST(Relay, DoesNotBeginInATaskThatHasEnded) {
  World world("");
  world.task.begin_end(async::CancelReason::kTaskEnded);
  world.start();
  EXPECT_EQ(world.task.clients, 0u);
  EXPECT_TRUE(ended(world.at_client));
}

}  // namespace
}  // namespace sallyport::proxy
