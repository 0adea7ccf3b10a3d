#include "core/ipc/message.h"

#include <gtest/gtest.h>

#include <array>

#include "core/ipc/request_table.h"
#include "core/ipc/test_envelope.pb.h"

namespace sallyport::ipc {
namespace {

using testing::ToTester;

Deadline soon() { return Deadline::after(std::chrono::seconds(5)); }

ToTester start_named(std::string name) {
  ToTester envelope;
  envelope.mutable_start()->set_name(std::move(name));
  return envelope;
}

TEST(Message, ArrivesAsSent) {
  auto ends = Channel::pair().value();
  ASSERT_TRUE(send_message(ends.first, start_named("x"), {}, soon()));
  auto received = receive_message<ToTester>(ends.second, soon()).value();
  EXPECT_EQ(received.message.start().name(), "x");
  EXPECT_EQ(try_receive_message<ToTester>(ends.second).error().kind, ErrorKind::kUnavailable);
  int fd = ends.first.fd();
  ASSERT_TRUE(try_send_message(ends.first, start_named("y"), std::span(&fd, 1)));
  EXPECT_EQ(try_receive_message<ToTester>(ends.second, 1).value().descriptors.size(), 1U);
}

TEST(Message, IsNotSentEmptyOrTooLong) {
  EXPECT_EQ(serialize(ToTester()).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(serialize(start_named(std::string(kMaxFrameBytes, 'x'))).error().kind, ErrorKind::kInvalid);
  EXPECT_TRUE(serialize(start_named(std::string(kMaxFrameBytes - 100, 'x'))));
  ToTester stop;
  stop.mutable_stop();
  EXPECT_EQ(parse<ToTester>(serialize(stop).value()).value().message_case(), ToTester::kStop);
}

TEST(Message, RefusesWhatIsNotOneOfItsType) {
  auto good = serialize(start_named("abc")).value();
  ASSERT_TRUE(parse<ToTester>(good));
  auto refused = [](std::vector<std::uint8_t> bytes) {
    auto result = parse<ToTester>(bytes);
    return !result && result.error().kind == ErrorKind::kInvalid;
  };
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_TRUE(refused({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)})) << size;
  auto trailing = good;
  trailing.push_back(0xff);
  EXPECT_TRUE(refused(trailing));
}

TEST(Message, OfAnUnknownCaseHasNone) {
  auto unknown = parse<ToTester>(std::array<std::uint8_t, 2>{0x78, 0x01});  // field 15, varint 1
  EXPECT_EQ(unknown.value().message_case(), ToTester::MESSAGE_NOT_SET);
}

TEST(Message, ThatDoesNotParseClosesTheChannel) {
  auto ends = Channel::pair().value();
  ASSERT_TRUE(ends.first.send(std::array<std::uint8_t, 2>{0x0a, 0x7f}, {}, soon()));
  EXPECT_EQ(receive_message<ToTester>(ends.second, soon()).error().kind, ErrorKind::kInvalid);
  EXPECT_FALSE(ends.second.is_open());
}

enum class State { kFresh, kRunning, kEnded };

constexpr auto kRequests = request_table<State, ToTester::MessageCase>({
    {State::kFresh, ToTester::kStart, 2},
    {State::kRunning, ToTester::kStop},
});
static_assert(kRequests.allows(State::kFresh, ToTester::kStart));
static_assert(!kRequests.allows(State::kRunning, ToTester::kStart));

TEST(RequestTable, AllowsOnlyWhatIsWritten) {
  std::size_t allowed = 0;
  for (State state : {State::kFresh, State::kRunning, State::kEnded})
    for (auto request : {ToTester::kStart, ToTester::kStop, ToTester::MESSAGE_NOT_SET})
      allowed += kRequests.check(state, request).has_value();
  EXPECT_EQ(allowed, 2U);
  EXPECT_TRUE(kRequests.check(State::kFresh, ToTester::kStart, 2));
  EXPECT_EQ(kRequests.check(State::kFresh, ToTester::kStart, 3).error().kind, ErrorKind::kDenied);
  EXPECT_FALSE(kRequests.check(State::kRunning, ToTester::kStop, 1));
  EXPECT_EQ(kRequests.max_descriptors(State::kFresh), 2U);
  EXPECT_EQ(kRequests.max_descriptors(State::kRunning), 0U);
  EXPECT_EQ(kRequests.max_descriptors(State::kEnded), 0U);
}

TEST(RequestTable, ClosesTheChannelOfWhoAsksOutOfTurn) {
  auto ends = Channel::pair().value();
  EXPECT_TRUE(kRequests.admit(ends.first, State::kFresh, ToTester::kStart));
  EXPECT_TRUE(ends.first.is_open());
  EXPECT_EQ(kRequests.admit(ends.first, State::kRunning, ToTester::kStart).error().kind, ErrorKind::kDenied);
  EXPECT_FALSE(ends.first.is_open());
}

}  // namespace
}  // namespace sallyport::ipc
