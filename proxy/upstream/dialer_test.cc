#include "proxy/upstream/dialer.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>

#include "core/ipc/message.h"
#include "policies/engine/decide.h"
#include "policies/engine/load.h"
#include "resolver/api/resolver.pb.h"

namespace sallyport::proxy {
namespace {

using namespace std::chrono_literals;

// Two tasks that dial through one resolver, which is the test.
struct World {
  ~World() {
    one.cancel(async::CancelReason::kShutdown);
    other.cancel(async::CancelReason::kShutdown);
    client.stop();
    turn();
  }

  void dial(DialShare& share, async::TaskScope& scope) {
    auto verdict = policy::decide_connection(*policy, {HostName::parse("a.test").value(), Port::of(5432)});
    ASSERT_TRUE(verdict.destination);
    boost::asio::co_spawn(io, dialer.dial(*verdict.destination, share, scope, Deadline::after(60s)),
                          [this](std::exception_ptr, DialOutcome outcome) { failures.push_back(outcome.failure.reason); });
    turn();
  }
  void turn() {
    io.restart();
    io.poll();
  }
  // Questions the resolver was asked since the last time; each is answered: there is no such name.
  int answer() {
    int questions = 0;
    while (auto asked = ipc::try_receive_message<resolver::api::ResolveRequest>(channels.second)) {
      ++questions;
      resolver::api::ResolveReply reply;
      reply.set_id(asked.value().message.id());
      reply.set_status(resolver::api::ResolveReply::NXDOMAIN);
      EXPECT_TRUE(ipc::try_send_message(channels.second, reply));
      turn();
      client_reads();
    }
    return questions;
  }
  void client_reads() {
    io.restart();
    io.run_for(1ms);
  }

  IoContext io{1};
  async::DeadlineWheel wheel{Clock::now()};
  std::pair<ipc::Channel, ipc::Channel> channels = ipc::Channel::pair().value();
  ResolverClient client{io.get_executor(), wheel, std::move(channels.first)};
  net::AddressPolicy addresses;
  Dialer dialer{wheel, client, addresses};
  async::TaskScope one{io.get_executor(), 8}, other{io.get_executor(), 8};
  DialShare of_one, of_other;
  std::shared_ptr<const policy::CompiledPolicy> policy =
      policy::load("policy: dial/1\nrules:\n  - allow: tcp://a.test:5432\n", "test.yaml").policy;
  std::vector<policy::ReasonCode> failures;
};

TEST(Dialer, DeniesOneTaskMoreThanItsShareOfLookups) {
  World world;
  boost::asio::co_spawn(world.io, world.client.run(), [](std::exception_ptr) {});
  world.of_one.resolving = Dialer::kMaxResolving - 1;  // as if so many were on their way
  world.dial(world.of_one, world.one);
  EXPECT_TRUE(world.failures.empty());
  world.dial(world.of_one, world.one);
  EXPECT_EQ(world.failures, std::vector{policy::ReasonCode::kOverloaded});
  world.dial(world.of_other, world.other);
  EXPECT_EQ(world.failures.size(), 1u) << "another task's share is its own";
  EXPECT_EQ(world.of_other.resolving, 1u);
  EXPECT_EQ(world.answer(), 2);
  EXPECT_EQ(world.failures.size(), 3u);
  EXPECT_EQ(world.of_one.resolving, Dialer::kMaxResolving - 1);
  EXPECT_EQ(world.of_other.resolving, 0u);
  world.dial(world.of_one, world.one);
  EXPECT_EQ(world.failures.size(), 3u) << "there is room again";
}

}  // namespace
}  // namespace sallyport::proxy
