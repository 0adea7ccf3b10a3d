#include "proxy/upstream/resolver_client.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>

#include "core/ipc/message.h"
#include "resolver/api/resolver.pb.h"

namespace sallyport::proxy {
namespace {

using std::chrono::milliseconds;

// The client on one end of a channel, the test as the resolver on the other.
struct Fixture {
  Fixture() {
    auto ends = ipc::Channel::pair().value();
    resolver = std::move(ends.second);
    client = std::make_unique<ResolverClient>(io.get_executor(), wheel, std::move(ends.first));
    boost::asio::co_spawn(io, client->run(), [](std::exception_ptr) {});
  }
  ~Fixture() {
    client->stop();
    io.restart();
    io.run_for(milliseconds(100));
  }

  // Starts a resolution; the question, if one was sent, is answered with `ttl` seconds.
  Resolved ask(const char* name, std::uint32_t ttl, int& questions) {
    Resolved out;
    bool done = false;
    auto host = HostName::parse(name).value();  // outlives the coroutine, which borrows it
    boost::asio::co_spawn(io, client->resolve(host, scope, Deadline::after(milliseconds(500))),
                          [&](std::exception_ptr, Resolved result) {
                            out = std::move(result);
                            done = true;
                          });
    for (int i = 0; i < 20 && !done; ++i) {
      io.restart();
      io.run_for(milliseconds(5));
      auto asked = ipc::try_receive_message<resolver::api::ResolveRequest>(resolver);
      if (!asked) continue;
      ++questions;
      resolver::api::ResolveReply reply;
      reply.set_id(asked.value().message.id());
      reply.set_status(resolver::api::ResolveReply::OK);
      reply.add_addresses(std::string("\xc6\x33\x64\x0a", 4));
      reply.set_ttl(ttl);
      EXPECT_TRUE(ipc::try_send_message(resolver, reply));
    }
    EXPECT_TRUE(done);
    return out;
  }

  IoContext io{1};
  async::DeadlineWheel wheel{Clock::now()};
  async::TaskScope scope{io.get_executor(), 8};
  ipc::Channel resolver;
  std::unique_ptr<ResolverClient> client;
};

TEST(ResolverClient, KeepsAnAnswerForItsTtlOnly) {
  Fixture f;
  int questions = 0;
  EXPECT_EQ(f.ask("kept.test", 30, questions).addresses.size(), 1u);
  EXPECT_EQ(f.ask("kept.test", 30, questions).addresses.size(), 1u);
  EXPECT_EQ(questions, 1);
}

TEST(ResolverClient, AsksAgainAfterATtlOfZero) {  // dns-023
  Fixture f;
  int questions = 0;
  EXPECT_EQ(f.ask("once.test", 0, questions).addresses.size(), 1u);
  EXPECT_EQ(f.ask("once.test", 0, questions).addresses.size(), 1u);
  EXPECT_EQ(questions, 2);
}

TEST(ResolverClient, AnswersAtOnceWhenTheResolverIsGone) {
  Fixture f;
  int questions = 0;
  f.resolver.close();
  EXPECT_EQ(f.ask("any.test", 0, questions).status, ResolveStatus::kUnavailable);
}

TEST(ResolverClient, StopsWaitingWhenTheTaskEnds) {
  Fixture f;
  auto host = HostName::parse("slow.test").value();
  Resolved out;
  bool done = false;
  boost::asio::co_spawn(f.io, f.client->resolve(host, f.scope, Deadline::after(std::chrono::seconds(60))),
                        [&](std::exception_ptr, Resolved result) {
                          out = std::move(result);
                          done = true;
                        });
  f.io.run_for(milliseconds(10));
  EXPECT_FALSE(done);
  f.scope.cancel(async::CancelReason::kTaskEnded);
  f.io.restart();
  f.io.run_for(milliseconds(10));
  EXPECT_TRUE(done);
  EXPECT_EQ(out.status, ResolveStatus::kUnavailable);
}

}  // namespace
}  // namespace sallyport::proxy
