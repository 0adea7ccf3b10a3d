#include "core/ipc/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "core/ipc/send_queue.h"

namespace sallyport::ipc {
namespace {

using Bytes = std::vector<std::uint8_t>;

Deadline soon() { return Deadline::after(std::chrono::seconds(5)); }
Deadline now() { return Deadline::after(std::chrono::milliseconds(1)); }

struct Ends {
  Ends() {
    auto made = Channel::pair();
    EXPECT_TRUE(made);
    ours = std::move(made.value().first);
    theirs = std::move(made.value().second);
  }
  Channel ours, theirs;
};

UniqueFd some_file() { return UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

int open_descriptors() {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

TEST(Channel, CarriesFramesWhole) {
  Ends ends;
  for (std::size_t size : {std::size_t{1}, std::size_t{1000}, kMaxFrameBytes}) {
    Bytes sent(size, static_cast<std::uint8_t>(size));
    ASSERT_TRUE(ends.ours.send(sent, {}, soon()));
    EXPECT_EQ(ends.theirs.receive(soon()).value().bytes, sent);
  }
  ASSERT_TRUE(ends.ours.try_send(Bytes{1}));
  ASSERT_TRUE(ends.ours.try_send(Bytes{2, 3}));
  EXPECT_EQ(ends.theirs.receive(soon()).value().bytes, Bytes{1});
  EXPECT_EQ(ends.theirs.receive(soon()).value().bytes, (Bytes{2, 3}));
}

TEST(Channel, DoesNotSendWhatIsNoFrame) {
  Ends ends;
  EXPECT_EQ(ends.ours.try_send(Bytes{}).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(ends.ours.try_send(Bytes(kMaxFrameBytes + 1)).error().kind, ErrorKind::kInvalid);
  std::vector<int> many(kMaxFrameDescriptors + 1, 0);
  EXPECT_EQ(ends.ours.try_send(Bytes{1}, many).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(ends.theirs.try_receive().error().kind, ErrorKind::kUnavailable);
}

TEST(Channel, PassesDescriptorsCloseOnExec) {
  Ends ends;
  UniqueFd file = some_file();
  std::vector<int> numbers(kMaxFrameDescriptors, file.get());
  ASSERT_TRUE(ends.ours.send(Bytes{1}, numbers, soon()));
  Frame frame = ends.theirs.receive(soon(), kMaxFrameDescriptors).value();
  ASSERT_EQ(frame.descriptors.size(), kMaxFrameDescriptors);
  struct stat sent = {}, received = {};
  ASSERT_EQ(fstat(file.get(), &sent), 0);
  for (const UniqueFd& fd : frame.descriptors) {
    EXPECT_EQ(fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
    ASSERT_EQ(fstat(fd.get(), &received), 0);
    EXPECT_EQ(received.st_rdev, sent.st_rdev);
  }
}

TEST(Channel, ClosesDescriptorsThatWereNotExpected) {
  for (std::size_t expected : {0U, 1U}) {
    Ends ends;
    UniqueFd file = some_file();
    std::vector<int> numbers(expected + 1, file.get());
    ASSERT_TRUE(ends.ours.send(Bytes{1}, numbers, soon()));
    int before = open_descriptors();
    EXPECT_EQ(ends.theirs.receive(soon(), expected).error().kind, ErrorKind::kDenied);
    EXPECT_FALSE(ends.theirs.is_open());
    EXPECT_EQ(open_descriptors(), before - 1) << "only the channel is gone, nothing came";
    EXPECT_EQ(ends.theirs.receive(soon()).error().kind, ErrorKind::kDisconnected);
    EXPECT_EQ(ends.ours.send(Bytes{1}, {}, soon()).error().kind, ErrorKind::kDisconnected);
  }
}

// What a compromised peer may send past Channel::send.
void send_raw(int fd, std::size_t bytes, std::size_t descriptors, bool credentials = false) {
  Bytes data(bytes, 7);
  iovec piece{data.data(), data.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 64) + CMSG_SPACE(sizeof(ucred))] = {};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  if (descriptors > 0 || credentials) {
    header.msg_control = control;
    std::size_t size = credentials ? sizeof(ucred) : descriptors * sizeof(int);
    header.msg_controllen = CMSG_SPACE(size);
    cmsghdr* first = CMSG_FIRSTHDR(&header);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = credentials ? SCM_CREDENTIALS : SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(size);
    if (credentials) {
      ucred own{getpid(), geteuid(), getegid()};
      memcpy(CMSG_DATA(first), &own, sizeof own);
    } else {
      std::vector<int> numbers(descriptors, fd);
      memcpy(CMSG_DATA(first), numbers.data(), size);
    }
  }
  ASSERT_EQ(sendmsg(fd, &header, 0), static_cast<ssize_t>(bytes));
}

TEST(Channel, RefusesATruncatedFrame) {
  Ends ends;
  send_raw(ends.ours.fd(), kMaxFrameBytes + 1, 0);
  EXPECT_EQ(ends.theirs.receive(soon()).error().kind, ErrorKind::kDenied);
  EXPECT_FALSE(ends.theirs.is_open());
  Ends control;
  send_raw(control.ours.fd(), kMaxFrameBytes, 0);
  EXPECT_TRUE(control.theirs.receive(soon()));
}

TEST(Channel, RefusesMoreDescriptorsThanFit) {
  Ends ends;
  send_raw(ends.ours.fd(), 1, kMaxFrameDescriptors + 10);
  int before = open_descriptors();
  EXPECT_EQ(ends.theirs.receive(soon(), kMaxFrameDescriptors).error().kind, ErrorKind::kDenied);
  EXPECT_EQ(open_descriptors(), before - 1);
}

TEST(Channel, RefusesOtherControlData) {
  Ends ends;
  int on = 1;
  ASSERT_EQ(setsockopt(ends.theirs.fd(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
  send_raw(ends.ours.fd(), 1, 0, true);
  EXPECT_EQ(ends.theirs.receive(soon(), 1).error().kind, ErrorKind::kDenied);
}

TEST(Channel, TakesAnEmptyFrameForTheEnd) {
  Ends ends;
  send_raw(ends.ours.fd(), 0, 0);
  EXPECT_EQ(ends.theirs.receive(soon()).error().kind, ErrorKind::kDisconnected);
  EXPECT_FALSE(ends.theirs.is_open());
}

TEST(Channel, RefusesDescriptorsOnAnEmptyFrame) {
  Ends ends;
  int before = open_descriptors();
  send_raw(ends.ours.fd(), 0, 1);
  auto result = ends.theirs.receive(soon(), 1);
  EXPECT_FALSE(result);
  EXPECT_EQ(open_descriptors(), before - 1);
}

TEST(Channel, TellsThatTheOtherSideIsGone) {
  Ends ends;
  ASSERT_TRUE(ends.ours.send(Bytes{1}, {}, soon()));
  ends.ours.close();
  EXPECT_EQ(ends.theirs.receive(soon()).value().bytes, Bytes{1}) << "what was sent before still arrives";
  EXPECT_EQ(ends.theirs.receive(soon()).error().kind, ErrorKind::kDisconnected);
  Ends other;
  other.theirs.close();
  EXPECT_EQ(other.ours.send(Bytes{1}, {}, soon()).error().kind, ErrorKind::kDisconnected);  // and no SIGPIPE
}

TEST(Channel, WaitsNoLongerThanItsDeadline) {
  Ends ends;
  EXPECT_EQ(ends.ours.receive(now()).error().kind, ErrorKind::kTimedOut);
  Bytes big(kMaxFrameBytes, 1);
  Result<void> sent = success();
  for (int i = 0; i < 64 && sent; ++i) sent = ends.ours.send(big, {}, now());
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::kTimedOut);
  EXPECT_EQ(ends.ours.try_send(big).error().kind, ErrorKind::kUnavailable);
}

TEST(Channel, WaitsUntilThereIsRoomOrAFrame) {
  Ends ends;
  std::thread other([&] {
    for (int i = 0; i < 40; ++i) EXPECT_TRUE(ends.theirs.receive(soon()));
    EXPECT_TRUE(ends.theirs.send(Bytes{9}, {}, soon()));
  });
  Bytes big(kMaxFrameBytes, 1);
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(ends.ours.send(big, {}, soon()));
  EXPECT_EQ(ends.ours.receive(soon()).value().bytes, Bytes{9});
  other.join();
}

TEST(Channel, AdoptsOnlyConnectedSeqpacketUnixSockets) {
  int stream[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream), 0);
  UniqueFd a(stream[0]), b(stream[1]);
  EXPECT_FALSE(Channel::adopt(std::move(a)));
  EXPECT_FALSE(Channel::adopt(UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)))) << "not connected";
  EXPECT_FALSE(Channel::adopt(UniqueFd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0))));
  EXPECT_FALSE(Channel::adopt(some_file()));
  EXPECT_FALSE(Channel::adopt(UniqueFd()));
  Ends ends;
  EXPECT_TRUE(Channel::adopt(ends.ours.release()));
}

TEST(SendQueue, KeepsOrderAndDescriptorsUntilThereIsRoom) {
  Ends ends;
  SendQueue queue(ends.ours, {.frames = 16, .bytes = 1024 * 1024});
  Bytes big(kMaxFrameBytes, 0);
  std::uint8_t count = 0;
  while (queue.empty()) {
    big[0] = count++;
    ASSERT_TRUE(queue.push(big));
  }
  std::vector<UniqueFd> descriptors;
  descriptors.push_back(some_file());
  ASSERT_TRUE(queue.push(Bytes{count++}, std::move(descriptors)));
  EXPECT_FALSE(queue.flush().value());
  for (std::uint8_t expected = 0; expected < count; ++expected) {
    Frame frame = ends.theirs.receive(soon(), 1).value();
    EXPECT_EQ(frame.bytes[0], expected);
    EXPECT_EQ(frame.descriptors.size(), expected + 1 == count ? 1U : 0U);
    ASSERT_TRUE(queue.flush());
  }
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.bytes(), 0U);
}

TEST(SendQueue, IsOverloadedPastItsLimits) {
  for (auto limits : {SendQueue::Limits{.frames = 3, .bytes = 1024 * 1024},
                      SendQueue::Limits{.frames = 100, .bytes = 3 * kMaxFrameBytes}}) {
    Ends ends;
    SendQueue queue(ends.ours, limits);
    Bytes big(kMaxFrameBytes, 0);
    while (queue.empty()) ASSERT_TRUE(queue.push(big));
    EXPECT_TRUE(queue.push(big));
    EXPECT_TRUE(queue.push(big));
    int before = open_descriptors();
    std::vector<UniqueFd> descriptors;
    descriptors.push_back(some_file());
    EXPECT_EQ(queue.push(big, std::move(descriptors)).error().kind, ErrorKind::kOverloaded);
    EXPECT_EQ(open_descriptors(), before);
  }
}

TEST(SendQueue, TellsThatTheOtherSideIsGone) {
  Ends ends;
  SendQueue queue(ends.ours);
  Bytes big(kMaxFrameBytes, 0);
  while (queue.empty()) ASSERT_TRUE(queue.push(big));
  ends.theirs.close();
  EXPECT_EQ(queue.flush().error().kind, ErrorKind::kDisconnected);
}

}  // namespace
}  // namespace sallyport::ipc
