#include "proxy/tunnel/relay.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <cstring>
#include <string>

#include <boost/asio/co_spawn.hpp>

#include "core/tls/test_hellos.h"
#include "policies/engine/load.h"
#include "proxy/tunnel/test_sockets.h"
#include "proxy/tunnel/tunnel.h"

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
  - allow: tls://allowed.test:1
)" + std::string(budgets);
  auto pool = resolver::SyntheticPool::make(IpPrefix::parse("198.18.0.0/20").value(), IpPrefix::parse("fd53:7079:0:1::/64").value());
  return {TaskId::parse("t-relay").value(), policy::load(text, "test.yaml").policy, std::move(pool).value(), leases,
          [&told](std::string_view limit, int rule) { told.emplace_back(limit, rule); }};
}

// A task with one tunnel; both of its far ends are the test's.
struct World {
  enum class Over { kUnix, kTcp };
  explicit World(std::string_view budgets, const char* host = "a.test", Over over = Over::kUnix)
      : ring(audit::AuditRing::create(audit::AuditRing::kMinSize).value()),
        recorder(io.get_executor(), audit::AuditRing::open(ring.duplicate().value()).value()),
        channels(ipc::Channel::pair().value()), resolver(io.get_executor(), wheel, std::move(channels.second)),
        dialer(wheel, resolver, addresses),
        task({io.get_executor(), wheel, recorder, dialer, relays}, settings(leases, budgets, told)), name(HostName::parse(host).value()) {
    ::signal(SIGPIPE, SIG_IGN);
    task.run();
    auto [near_client, far_client] = over == Over::kTcp ? tcp_pair(8192) : connected();
    auto [far_upstream, near_upstream] = over == Over::kTcp ? tcp_pair(2 << 20) : connected();
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

// Until `done`, at most so many milliseconds.
template <class Condition>
bool comes(World& world, int milliseconds, Condition done) {
  for (; milliseconds > 0 && !done(); milliseconds -= 5) world.run(5);
  return done();
}

// The upstream has ended in order, and much of what it said still waits for a client that pauses: nothing of it is lost.
TEST(Relay, KeepsTheTailForAClientThatHasEndedItsStreamAndPauses) {
  constexpr std::size_t kTotal = 150'000;
  World world("", "a.test", World::Over::kTcp);
  say(world.at_client, 10);
  finish(world.at_client);
  world.start();
  world.run(30);
  EXPECT_EQ(heard(world.at_upstream), 10u);
  say(world.at_upstream, kTotal);
  world.at_upstream.reset();
  world.run(1300);
  std::size_t total = 0;
  EXPECT_TRUE(comes(world, 3000, [&] { return (total += heard(world.at_client)) >= kTotal || world.task.clients == 0; }));
  total += heard(world.at_client);
  EXPECT_EQ(total, kTotal);
  world.run(20);
  char byte;
  EXPECT_EQ(::recv(world.at_client.get(), &byte, 1, 0), 0) << "an orderly end";
  EXPECT_EQ(world.task.destinations().total().bytes_down, kTotal);
}

// The twin: an upstream that resets is seen while the client does not read.
TEST(Relay, SeesAResetBehindAClientThatPauses) {
  World world("", "a.test", World::Over::kTcp);
  world.start();
  say(world.at_upstream, 150'000);
  world.run(30);
  will_reset(world.at_upstream);
  world.at_upstream.reset();
  EXPECT_TRUE(comes(world, 2000, [&] { return world.task.clients == 0; }));
}

TEST(Relay, SeesAResetAfterTheEndOfThatStream) {
  for (bool client : {true, false}) {
    World world("", "a.test", World::Over::kTcp);
    auto& end = client ? world.at_client : world.at_upstream;
    say(end, 10);
    finish(end);
    world.start();
    world.run(Relay::kWatch / 1ms * 3);
    EXPECT_EQ(world.task.clients, 1u) << "a half-closed tunnel stays";
    will_reset(end);
    end.reset();
    EXPECT_TRUE(comes(world, 2000, [&] { return world.task.clients == 0; })) << client;
  }
}

// The time for the first bytes is over with them: the dial that follows has its own.
TEST(ClientHelloCheck, LeavesNoDeadlineBehind) {
  World world("", "allowed.test");
  auto hello = tls::in_records(tls::HelloParts{}.message());
  auto verdict = world.task.decide_connection({world.name, Port::of(1)});
  ASSERT_TRUE(verdict.destination);
  std::optional<bool> fits;
  auto check = [&]() -> Awaitable<void> {
    auto checking = check_client_hello(*world.client, *verdict.destination);
    fits = co_await std::move(checking);
  };
  boost::asio::co_spawn(world.io, check(), [](std::exception_ptr fault) { EXPECT_FALSE(fault); });
  world.run(5);
  EXPECT_FALSE(fits) << "nothing was said";
  EXPECT_EQ(::send(world.at_client.get(), hello.data(), hello.size(), MSG_NOSIGNAL), static_cast<ssize_t>(hello.size()));
  world.run(5);
  EXPECT_EQ(fits, std::optional(true));
  world.wheel.advance(Clock::now() + ClientConnection::kClassificationTime + 1s);
  EXPECT_EQ(world.client->expired(), Expired::kNothing);
  EXPECT_FALSE(ended(world.at_client));
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
